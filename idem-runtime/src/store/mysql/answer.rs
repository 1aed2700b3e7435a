//! An answer on its way into a statement, which the server takes only up to its packet limit.

use sqlx::mysql::MySqlConnection;

use super::{Statement, sql};
use crate::record::{Answer, AnswerBody};
use crate::store::StoreResult;
use crate::store::row::AnswerColumns;

/// Below this, no server that is set for work refuses a packet, and nothing is asked.
const CERTAINLY_FITS: usize = 512 * 1024;
/// More than all else that the statement carries.
const REST_OF_THE_PACKET: usize = 16 * 1024;

pub(super) fn bind(statement: Statement, answer: Option<&Answer>) -> Statement {
    let columns = AnswerColumns::of(answer);
    statement
        .bind(columns.code)
        .bind(columns.headers)
        .bind(columns.content_type.map(str::to_owned))
        .bind(columns.body.map(<[u8]>::to_vec))
}

/// An error that names the limit, instead of a connection that the server closes.
pub(super) async fn check_size(conn: &mut MySqlConnection, answer: &Answer) -> StoreResult<()> {
    let body = match &answer.body {
        AnswerBody::Kept(body) => body.as_slice(),
        AnswerBody::Sealed(sealed) => sealed.bytes(),
        AnswerBody::Omitted => return Ok(()),
    };
    if body.len() <= CERTAINLY_FITS {
        return Ok(());
    }
    let limit: i64 = sqlx::query_scalar(sql::PACKET).fetch_one(conn).await?;
    if usize::try_from(limit).is_ok_and(|limit| body.len() + REST_OF_THE_PACKET > limit) {
        let message = format!(
            "an answer of {} bytes does not fit into max_allowed_packet, which is {limit}: raise it, or lower \
             max_answer_bytes of the guard",
            body.len()
        );
        return Err(sqlx::Error::Encode(message.into()));
    }
    Ok(())
}
