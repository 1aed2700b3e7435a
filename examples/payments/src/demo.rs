//! Plays many clients that repeat themselves at a provider that loses answers, kills the service among them, and
//! compares the provider's ledger with the orders.

use std::collections::HashMap;
use std::path::PathBuf;

use axum::http::StatusCode;
use example_support::{Answer, Call, Client, DemoError, Service, Summary, show};
use futures_util::future::{join, join_all};
use serde_json::json;

use crate::provider::{DECLINED, LOSES_ANSWER, NEVER_ANSWERS, NEVER_CHARGES, Provider};
use crate::service::{BANK, BANK_TIMEOUT};

/// How many orders are paid at once.
const ORDERS: usize = 30;
/// How many clients pay each of them.
const CLIENTS: usize = 4;
/// For the steps in which the service is killed: it must not give up before.
const PATIENT: &str = "60000";

/// Plays all steps.
pub(crate) async fn run(folder: PathBuf) -> Result<Summary, DemoError> {
    let (provider, url) = Provider::start().await?;
    let service = Service::start(&folder, &[(BANK, &url)]).await?;
    let client = Client::new(service.authority())?;
    let mut demo = Demo { provider, url, service, client };
    demo.open_an_account().await?;
    demo.pay_while_answers_are_lost().await?;
    demo.pay_with_a_declined_card().await?;
    demo.ask_the_provider_after_a_crash().await?;
    let (charges, double) = demo.compare_the_ledger(ORDERS + 3)?;
    Ok(demo.client.summary(charges + 1, double))
}

struct Demo {
    provider: Provider,
    url: String,
    service: Service,
    client: Client,
}

impl Demo {
    async fn open_an_account(&self) -> Result<(), DemoError> {
        let account = Call::json("/accounts", &json!({ "name": "books" })).key("account");
        let created = self.client.send(&account).await?;
        let again = self.client.send(&account).await?;
        DemoError::unless(created.status == StatusCode::CREATED && again.replayed, "an account", &again)?;
        show("1", "an account, twice", "201, and replayed");
        Ok(())
    }

    async fn pay_while_answers_are_lost(&mut self) -> Result<(), DemoError> {
        let cards = ["good", LOSES_ANSWER, NEVER_ANSWERS, NEVER_CHARGES];
        let calls: Vec<Call> = (0..ORDERS).map(|n| payment(&format!("order-{n}"), cards[n % 4])).collect();
        let paying =
            join_all((0..CLIENTS * ORDERS).map(|n| self.client.send_until_answered(&calls[n % ORDERS])));
        let killing = async {
            self.provider.wait_for_requests(ORDERS / 2).await;
            self.service.kill().await?;
            self.service.restart(&[(BANK, &self.url)]).await
        };
        let (answers, killed) = join(paying, killing).await;
        killed?;
        for (n, answer) in answers.into_iter().enumerate() {
            self.expect_charge(&format!("order-{}", n % ORDERS), &answer?)?;
        }
        show(
            "2",
            &format!("{ORDERS} orders, paid by {CLIENTS} clients each"),
            "answers lost, service killed",
        );
        let (charges, asked) = (self.provider.ledger().len(), self.provider.requests());
        show("", "", &format!("{charges} charges, asked for {asked} times"));
        Ok(())
    }

    async fn pay_with_a_declined_card(&self) -> Result<(), DemoError> {
        let call = payment("order-declined", DECLINED);
        let asked = self.provider.requests();
        let declined = self.client.send(&call).await?;
        let again = self.client.send(&call).await?;
        let both = [&declined, &again].map(|answer| answer.status) == [StatusCode::PAYMENT_REQUIRED; 2];
        let once = self.provider.requests() == asked + 1;
        DemoError::unless(both && again.replayed && once, "a declined card", (declined, again))?;
        show("3", "a declined card, twice", "402, and replayed: asked for once");
        Ok(())
    }

    /// Three payments stand still in their bodies when the service is killed.
    async fn ask_the_provider_after_a_crash(&mut self) -> Result<(), DemoError> {
        self.service.kill().await?;
        self.service.restart(&[(BANK, &self.url), (BANK_TIMEOUT, PATIENT)]).await?;
        let (charged, lost) = (payment("order-charged", NEVER_ANSWERS), payment("order-lost", NEVER_CHARGES));
        let silent = payment("order-silent", NEVER_ANSWERS);
        let asked = self.provider.requests();
        let sent = join_all([&charged, &lost, &silent].map(|call| self.client.send(call)));
        let killing = async {
            self.provider.wait_for_requests(asked + 3).await;
            self.service.kill().await
        };
        let (broken, killed) = join(sent, killing).await;
        killed?;
        DemoError::unless(broken.iter().all(Result::is_err), "payments of a killed service", &broken)?;
        show("4", "three payments", "the service is killed in each of them");
        self.service.restart(&[(BANK, &self.url)]).await?;
        let answer = self.client.send_until_answered(&charged).await?;
        self.expect_charge("order-charged", &answer)?;
        DemoError::unless(self.provider.requests() == asked + 3, "a charge that was found", &answer)?;
        show("", "the first again: the provider has it", "201, nothing is charged");
        let answer = self.client.send_until_answered(&lost).await?;
        self.expect_charge("order-lost", &answer)?;
        DemoError::unless(self.provider.requests() == asked + 4, "a charge that was lost", &answer)?;
        show("", "the second again: it never arrived", "201, charged now");
        for down in [true, false] {
            // Also when the provider is back: what was unknown once waits for an operator.
            self.provider.set_down(down);
            let answer = self.client.send_until_answered(&silent).await?;
            DemoError::unless(answer.is("IDEMPOTENCY_OUTCOME_UNKNOWN"), "an unknown outcome", &answer)?;
        }
        show("", "the third again: the provider is down", "409, an operator decides");
        Ok(())
    }

    /// The receipt is that of the one charge of its order.
    fn expect_charge(&self, order: &str, answer: &Answer) -> Result<(), DemoError> {
        let ledger = self.provider.ledger();
        let charges: Vec<_> = ledger.iter().filter(|entry| entry.order == order).collect();
        let receipt = answer.member("charge");
        let one = matches!(charges[..], [entry] if entry.charge.as_ref() == Some(&receipt));
        DemoError::unless(answer.status == StatusCode::CREATED && one, order, (answer, charges))
    }

    /// How many charges there are, and how many orders have more than one.
    fn compare_the_ledger(&self, orders: usize) -> Result<(u64, u64), DemoError> {
        let mut charges: HashMap<String, u64> = HashMap::new();
        for entry in self.provider.ledger().into_iter().filter(|entry| entry.charge.is_some()) {
            *charges.entry(entry.order).or_default() += 1;
        }
        DemoError::unless(charges.len() == orders, "orders in the ledger", charges.len())?;
        let double = charges.values().filter(|&&count| count > 1).count();
        show(
            "5",
            "the provider's ledger and the orders",
            &format!("{orders} orders, {double} charged twice"),
        );
        Ok((charges.values().sum(), u64::try_from(double).unwrap_or(u64::MAX)))
    }
}

fn payment(order: &str, card: &str) -> Call {
    let json = json!({ "account": "books", "order": order, "card": card, "cents": 1999 });
    Call::json("/payments", &json).key(order)
}
