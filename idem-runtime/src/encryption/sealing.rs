//! What a guard seals with, if it does; without keys everything is stored as it is.

use super::{Binding, OpenError, frame};
use crate::record::{Answer, AnswerBody, Record, Sealed};

/// The system gave no randomness, so that nothing could be sealed.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("it could not be sealed: the system gave no randomness")]
pub(crate) struct NotSealed;

/// The keys of a guard, or none.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sealing {
    #[cfg(feature = "encryption")]
    keys: Option<super::AnswerKeys>,
}

impl Sealing {
    #[cfg(feature = "encryption")]
    pub(crate) fn with(keys: super::AnswerKeys) -> Self {
        Self { keys: Some(keys) }
    }

    /// How many bytes are stored for the body of `answer`.
    pub(crate) fn stored_bytes(&self, answer: &Answer) -> usize {
        match &answer.body {
            AnswerBody::Sealed(sealed) => sealed.bytes().len(),
            AnswerBody::Kept(body) if !self.is_on() => body.len(),
            AnswerBody::Omitted if !self.is_on() => 0,
            AnswerBody::Kept(_) | AnswerBody::Omitted => frame::write(answer).len() + OVERHEAD,
        }
    }

    pub(crate) fn seal_answer(&self, answer: Answer, binding: &Binding) -> Result<Answer, NotSealed> {
        if !self.is_on() {
            return Ok(answer);
        }
        let body = match self.seal(&frame::write(&answer), binding)? {
            None => return Ok(answer),
            Some(sealed) => AnswerBody::Sealed(sealed),
        };
        Ok(Answer { code: answer.code, headers: Vec::new(), content_type: None, body })
    }

    /// The recorded answer of `record`, as it was before it was sealed.
    pub(crate) fn open_answer(&self, record: &Record) -> Result<Option<Answer>, OpenError> {
        let Some(answer) = &record.answer else { return Ok(None) };
        let AnswerBody::Sealed(sealed) = &answer.body else { return Ok(Some(answer.clone())) };
        let plain = self.open(sealed, &Binding::answer(record, record.status, answer.code))?;
        let refused = || OpenError::Refused { key_id: sealed.key_id().to_owned() };
        frame::read(answer.code, &plain).ok_or_else(refused).map(Some)
    }

    pub(crate) fn seal_text(&self, text: String, binding: &Binding) -> Result<String, NotSealed> {
        Ok(self.seal(text.as_bytes(), binding)?.map_or(text, |sealed| sealed.to_text()))
    }

    pub(crate) fn open_text(&self, text: String, binding: &Binding) -> Result<String, OpenError> {
        let sealed = match Sealed::of_text(&text) {
            None => return Ok(text),
            Some(Err(key_id)) => return Err(OpenError::Refused { key_id }),
            Some(Ok(sealed)) => sealed,
        };
        let plain = self.open(&sealed, binding)?;
        String::from_utf8(plain).map_err(|_| OpenError::Refused { key_id: sealed.key_id().to_owned() })
    }
}

/// The nonce and the tag.
const OVERHEAD: usize = 24 + 16;

#[cfg(feature = "encryption")]
impl Sealing {
    fn is_on(&self) -> bool {
        self.keys.is_some()
    }

    fn seal(&self, plain: &[u8], binding: &Binding) -> Result<Option<Sealed>, NotSealed> {
        self.keys.as_ref().map(|keys| keys.seal(plain, binding)).transpose()
    }

    fn open(&self, sealed: &Sealed, binding: &Binding) -> Result<Vec<u8>, OpenError> {
        let unknown = || OpenError::UnknownKey { key_id: sealed.key_id().to_owned() };
        self.keys.as_ref().ok_or_else(unknown)?.open(sealed, binding)
    }
}

// The same without the feature, whose signatures they share.
#[cfg(not(feature = "encryption"))]
#[allow(clippy::unused_self, clippy::unnecessary_wraps)]
impl Sealing {
    fn is_on(&self) -> bool {
        false
    }

    fn seal(&self, _: &[u8], _: &Binding) -> Result<Option<Sealed>, NotSealed> {
        Ok(None)
    }

    fn open(&self, sealed: &Sealed, _: &Binding) -> Result<Vec<u8>, OpenError> {
        Err(OpenError::UnknownKey { key_id: sealed.key_id().to_owned() })
    }
}
