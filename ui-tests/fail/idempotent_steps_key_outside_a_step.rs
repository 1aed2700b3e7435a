use idem_runtime::sqlite::Idempotency;
use idem_runtime::{DownstreamKey, Error, idempotent};

async fn charge(key: DownstreamKey) -> Result<u32, Error> {
    Ok(key.as_str().len() as u32)
}

#[idempotent(route = "trips.book", steps)]
async fn book(idem: &Idempotency) -> Result<u32, Error> {
    let room = idem.step("reserve", async |key| charge(key).await).await?;
    charge(idem.downstream_key("charge")).await
}

fn main() {}
