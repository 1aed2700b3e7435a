//! Where a server of our own lives: its data, its port, and the user that it runs as.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use tempfile::TempDir;

use crate::Result;

/// Below the range that Linux takes client sockets from, so that none can sit on the port.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// Whom the server runs as when we are root, which it refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(super) user: u32,
    pub(super) group: u32,
}

impl Owner {
    /// The owner, when this process is root: the user `name`, or else `nobody`.
    pub(crate) fn needed(name: &str) -> Result<Option<Self>> {
        if !geteuid().is_root() {
            return Ok(None);
        }
        let accounts = fs::read_to_string("/etc/passwd")?;
        let owner = Self::find(&accounts, name);
        let refusal = || format!("a server refuses to run as root, and there is no user {name} or nobody");
        Ok(Some(owner.ok_or_else(refusal)?))
    }

    /// Reads the user, or else `nobody`, from the lines of `/etc/passwd`.
    fn find(accounts: &str, name: &str) -> Option<Self> {
        [name, "nobody"].iter().find_map(|name| {
            let line = accounts.lines().find(|line| line.split(':').next() == Some(name))?;
            let mut fields = line.split(':').skip(2).map(str::parse);
            Some(Self { user: fields.next()?.ok()?, group: fields.next()?.ok()? })
        })
    }
}

/// A folder of our own that the owner can reach: root's folder for temporary files may be closed to others.
pub(crate) fn data_folder(prefix: &str, owner: Option<Owner>) -> Result<TempDir> {
    let Some(owner) = owner else {
        return Ok(tempfile::Builder::new().prefix(prefix).tempdir()?);
    };
    let candidates = [std::env::temp_dir(), PathBuf::from("/var/tmp"), PathBuf::from("/tmp")];
    let parent = candidates.iter().find(|folder| is_open_to_others(folder));
    let parent = parent.ok_or("no folder for temporary files can be reached by other users")?;
    let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
    chown(folder.path(), Some(owner.user), Some(owner.group))?;
    Ok(folder)
}

fn is_open_to_others(folder: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| {
        folder.ancestors().all(|part| part.metadata().is_ok_and(|found| found.mode() & 0o001 != 0))
    })
}

/// Random ports that nobody listens on right now.
pub(crate) fn free_ports() -> impl Iterator<Item = u16> {
    let tries = std::iter::repeat_with(|| fastrand::u16(PORTS)).take(1000);
    tries.filter(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_is_the_user_of_that_name_or_else_nobody() {
        let nobody = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65533:nobody:/:/bin/false\n";
        assert_eq!(Owner::find(nobody, "postgres"), Some(Owner { user: 65534, group: 65533 }));
        let both = format!("{nobody}postgres:x:101:104::/var/lib/postgresql:/bin/sh\n");
        assert_eq!(Owner::find(&both, "postgres"), Some(Owner { user: 101, group: 104 }));
        assert_eq!(Owner::find("root:x:0:0:root:/root:/bin/sh\n", "postgres"), None);
    }
}
