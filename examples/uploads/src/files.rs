//! The folder: parts as they came, and files that are whole or not there.

use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use tokio::fs::{self, File};
use tokio::io::{AsyncWriteExt, ErrorKind};
use uuid::Uuid;

use crate::error::AppError;

/// Where parts and files are.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    parts: PathBuf,
    whole: PathBuf,
}

impl Files {
    /// The two folders inside `folder`, made when they are not there.
    pub(crate) async fn open(folder: &Path) -> std::io::Result<Self> {
        let files = Self { parts: folder.join("parts"), whole: folder.join("whole") };
        fs::create_dir_all(&files.parts).await?;
        fs::create_dir_all(&files.whole).await?;
        Ok(files)
    }

    /// Writes a part; the same part again is written over itself.
    pub(crate) async fn put_part(&self, upload: Uuid, part: u32, bytes: &[u8]) -> std::io::Result<()> {
        let written = self.parts.join(format!("{upload}.{part}.{}", Uuid::new_v4().simple()));
        fs::write(&written, bytes).await?;
        // The name appears with the whole content: no reader meets half a part.
        fs::rename(written, self.part(upload, part)).await
    }

    /// Puts the parts together; the file has its name when it is whole, is on the disk, and has the digest `sha256`.
    ///
    /// An attempt that was believed dead may still be at it: each one writes a file of its own.
    pub(crate) async fn assemble(
        &self,
        upload: Uuid,
        parts: u32,
        sha256: &str,
        attempt: i64,
    ) -> Result<u64, AppError> {
        let written = self.parts.join(format!("{upload}.attempt-{attempt}"));
        let mut file = File::create(&written).await?;
        let (mut digest, mut length) = (Sha256::new(), 0);
        for part in 1..=parts {
            let bytes = match fs::read(self.part(upload, part)).await {
                Err(error) if error.kind() == ErrorKind::NotFound => return Err(AppError::PartMissing(part)),
                bytes => bytes?,
            };
            digest.update(&bytes);
            length += bytes.len() as u64;
            file.write_all(&bytes).await?;
        }
        if HEXLOWER.encode(&digest.finalize()) != sha256 {
            return Err(AppError::OtherContent);
        }
        file.sync_all().await?;
        fs::rename(&written, self.whole(upload)).await?;
        // The new name is in the folder, which is written on its own.
        File::open(&self.whole).await?.sync_all().await?;
        Ok(length)
    }

    /// Where the whole file of an upload is.
    pub(crate) fn whole(&self, upload: Uuid) -> PathBuf {
        self.whole.join(upload.to_string())
    }

    fn part(&self, upload: Uuid, part: u32) -> PathBuf {
        self.parts.join(format!("{upload}.{part}"))
    }
}
