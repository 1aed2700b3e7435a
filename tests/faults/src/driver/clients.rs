//! The load: clients that send each request again until they know how it ended, often twice at once.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fastrand::Rng;
use futures_util::StreamExt;

use super::ask::{Manner, Round};
use crate::checker::answer::Said;
use crate::routes::{Fails, Order, Owner, Route};

/// Every key is used by each of these on each route; the last one is the third but for a delimiter.
const CALLERS: [(&str, &str); 4] = [("acme", "ann"), ("acme", "bob"), ("globex", "ann"), ("globe", "xann")];
const PATIENCE: Duration = Duration::from_millis(2500);
/// So many tries, then the key is left to the end of the round.
const TRIES: usize = 40;
/// How many keys are asked for at once at the end.
const AT_ONCE: usize = 12;
const LAST_TRIES: usize = 5;

/// Sends one key after the other until the round is over; the orders of all keys.
pub(super) async fn client(round: Arc<Round>, mut random: Rng) -> Vec<(Owner, Order)> {
    let mut sent = Vec::new();
    while !round.is_over() {
        let number = round.keys.fetch_add(1, Ordering::SeqCst);
        let (owner, order) = drawn(number, &mut random);
        sent.push((owner.clone(), order.clone()));
        one_key(&round, &owner, &order, &mut random).await;
        tokio::time::sleep(Duration::from_millis(random.u64(0..250))).await;
    }
    sent
}

fn drawn(number: usize, random: &mut Rng) -> (Owner, Order) {
    let (rest, route) = (number / Route::ALL.len(), Route::ALL[number % Route::ALL.len()]);
    let (tenant, user) = CALLERS[rest % CALLERS.len()];
    let key = format!("key-{}", rest / CALLERS.len());
    let owner = Owner { tenant: tenant.to_owned(), user: user.to_owned(), route, key };
    let fails = match random.u8(0..100) {
        0..12 => Fails::First,
        12..20 => Fails::Always,
        _ => Fails::Never,
    };
    (owner, Order { payload: format!("p{number}-{:08x}", random.u32(..)), fails })
}

async fn one_key(round: &Round, owner: &Owner, order: &Order, random: &mut Rng) {
    let mut impostor = random.u8(0..100) < 20;
    for number in 0..TRIES {
        let process = random.usize(0..round.addresses.len());
        let twin = (random.u8(0..100) < 40).then(|| random.usize(0..round.addresses.len()));
        let ask = async |patience| {
            let manner = Manner { process, impostor: false, patience, last: false };
            let first = round.ask(owner, order, manner);
            match twin.filter(|_| number < 3) {
                None => first.await,
                Some(process) => {
                    futures_util::join!(first, round.ask(owner, order, Manner { process, ..manner })).0
                }
            }
        };
        // Some hang up early.
        let hangs_up = random.u8(0..100) < 4;
        let patience = if hangs_up { Duration::from_millis(random.u64(1..40)) } else { PATIENCE };
        let said = ask(patience).await;
        let (owned, ended) = said.as_ref().map_or((false, false), |said| judged(owner, order, said));
        if impostor && owned {
            impostor = false;
            let process = random.usize(0..round.addresses.len());
            let manner = Manner { process, impostor: true, patience: PATIENCE, last: false };
            let other = Order { payload: format!("{}-other", order.payload), fails: Fails::Never };
            round.ask(owner, &other, manner).await;
        }
        if ended && random.u8(0..100) < 60 || round.is_over() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(random.u64(10..150))).await;
    }
}

/// Whether the record is surely that of this request, and whether the key has come to its end.
fn judged(owner: &Owner, order: &Order, said: &Said) -> (bool, bool) {
    match said {
        Said::Own { success, .. } => {
            (true, *success || owner.route.keeps_failures() || order.fails == Fails::Always)
        }
        said if said.is_refused("IDEMPOTENCY_IN_PROGRESS") => (true, false),
        said => (false, owner.route.may_be_unknown() && said.is_refused("IDEMPOTENCY_OUTCOME_UNKNOWN")),
    }
}

/// Asks twice more for each key, now that nothing strikes.
pub(super) async fn ask_last(round: &Round, sent: &[(Owner, Order)]) {
    let asking = futures_util::stream::iter(sent.iter().enumerate());
    asking
        .for_each_concurrent(AT_ONCE, |(number, (owner, order))| async move {
            for time in 0..2 {
                let process = (number + time) % round.addresses.len();
                let patience = Duration::from_secs(20);
                let manner = Manner { process, impostor: false, patience, last: true };
                for _ in 0..LAST_TRIES {
                    let said = round.ask(owner, order, manner).await;
                    if said.is_some_and(|said| !said.is_silent()) {
                        break;
                    }
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }
        })
        .await;
}
