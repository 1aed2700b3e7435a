//! The statements of the store on the one row: each atomic, with the condition that its SQL has.

use idem_runtime::{Status, Timestamp};

use crate::history::History;
use crate::row::{Claim, Row, Token};
use crate::setup::Request;
use crate::state::Change;
use crate::variants::Variant;

/// A processing row under a fresh lease.
fn claimed(request: Request, token: Token, created: Claim, life: u8, revision: u8) -> Row {
    Row {
        request,
        status: Status::Processing,
        token,
        revision,
        answer: None,
        leased: true,
        past_life: false,
        unknown: false,
        released: false,
        created,
        life,
    }
}

/// INSERT ... ON CONFLICT DO NOTHING: writes only where there is no row.
pub(crate) fn insert(row: &mut Option<Row>, claim: Claim, past: &mut History) {
    if row.is_none() {
        let request = claim.request();
        let token = Token { attempt: 1, claim };
        *row = Some(claimed(request, token, claim, past.begin(request), 1));
    }
}

/// What no store does: an insert that replaces the row.
pub(crate) fn overwrite(row: &mut Option<Row>, over: bool, claim: Claim, past: &mut History) {
    let Some(old) = row.filter(|_| !over) else {
        *row = None;
        return insert(row, claim, past);
    };
    let token = Token { attempt: 1, claim };
    *row = Some(claimed(claim.request(), token, claim, old.life, 1));
}

/// UPDATE ... WHERE token, revision and birth are those that were judged; parts of that fall away in broken variants.
pub(crate) fn take_over(
    row: &mut Option<Row>,
    judged: (Token, u8, Timestamp),
    anew: bool,
    claim: Claim,
    past: &mut History,
    variant: Variant,
) -> bool {
    let judged_it = |row: &Row| {
        let born = variant == Variant::TakesOverReborn || row.created_at() == judged.2;
        (row.token, row.revision) == (judged.0, judged.1) && born || variant == Variant::TakesOverUnseen
    };
    let Some(seen) = row.filter(judged_it) else { return false };
    let token = Token { attempt: seen.token.attempt + 1, claim };
    let next = seen.revision + 1;
    *row = Some(if anew {
        let request = claim.request();
        claimed(request, token, claim, past.begin(request), next)
    } else {
        claimed(seen.request, token, seen.created, seen.life, next)
    });
    true
}

/// Whether the row is owned by `token`: what every fenced statement asks.
pub(crate) fn owns(row: Option<Row>, token: Token) -> bool {
    row.is_some_and(|row| row.token == token && row.status == Status::Processing)
}

/// Success, inside or outside of a transaction.
pub(crate) fn complete(row: &mut Row, claim: Claim) {
    settle(row, Status::Succeeded, Some(claim));
    row.unknown = false;
}

fn settle(row: &mut Row, status: Status, answer: Option<Claim>) {
    row.status = status;
    row.answer = answer;
    row.leased = false;
    row.revision += 1;
}

/// Carries out `change` of the attempt `token`; `false` when it touched no row.
pub(crate) fn change(row: &mut Option<Row>, change: Change, token: Token, variant: Variant) -> bool {
    let Some(row) = row else { return false };
    let unfenced = change == Change::Complete && !variant.fences();
    let ours = row.token == token || unfenced;
    let open = row.status == Status::Processing;
    match change {
        Change::Abandon | Change::GiveBack | Change::Refuse => {
            return ours && release(row);
        }
        _ if !ours || !open && !unfenced => return false,
        Change::Complete => {
            complete(row, token.claim);
            row.past_life = false;
        }
        Change::Fail => {
            settle(row, Status::Failed, Some(token.claim));
            row.unknown = false;
            row.past_life = false;
        }
        Change::EndLease => end_lease(row),
        Change::MarkUnknown => {
            end_lease(row);
            row.unknown = true;
        }
    }
    true
}

fn end_lease(row: &mut Row) {
    row.leased = false;
    row.revision += 1;
}

/// Makes the row claimable at once by the same request; never a success.
pub(crate) fn release(row: &mut Row) -> bool {
    let releasable = matches!(row.status, Status::Processing | Status::Failed);
    if releasable {
        settle(row, Status::Failed, None);
        row.unknown = false;
        row.released = true;
    }
    releasable
}

/// A fresh lease, and a life at least as long.
pub(crate) fn renew(row: &mut Option<Row>, token: Token) -> bool {
    let Some(row) = row.as_mut().filter(|row| owns(Some(**row), token) && !row.unknown) else { return false };
    row.leased = true;
    row.past_life = false;
    row.revision += 1;
    true
}

/// The sweep marks a life that is over.
pub(crate) fn expire(row: &mut Row) {
    row.status = Status::Expired;
    row.leased = false;
    row.revision += 1;
}
