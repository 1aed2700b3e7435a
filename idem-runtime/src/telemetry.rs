//! The names of all metrics and of their labels' values; docs/metrics.md says what each counts.
//!
//! They go to whatever recorder of the [`metrics`] facade the program installs; without one nothing is
//! kept. No label has a value that a client chooses: no key, no tenant, no user.
//!
//! A guard describes them when it is built. A program that installs its recorder later calls [`describe`] after it.
//!
//! ```
//! # let install = |_buckets: &[f64]| {};
//! // With metrics-exporter-prometheus: .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), BUCKETS)
//! install(idem_runtime::telemetry::BUCKETS);
//! idem_runtime::telemetry::describe();
//! ```

use ::metrics::{Unit, describe_counter, describe_gauge, describe_histogram};

/// Guarded calls that ended, by `route` and `outcome`.
pub const REQUESTS: &str = "idem_requests_total";
/// 2xx answers of delegating handlers that claimed nothing, and were answered 500.
pub const UNCLAIMED_ANSWERS: &str = "idem_unclaimed_answers_total";
/// Attempts that ended, by `route` and `ending`.
pub const ATTEMPTS: &str = "idem_attempts_total";
/// Records that were taken over from an earlier attempt, by `route` and `reason`.
pub const RECLAIMS: &str = "idem_reclaims_total";
/// Duplicates that waited for their twin, by `route` and how the wait `ended`.
pub const WAITS: &str = "idem_waits_total";
/// Renewals of leases, by `route` and `result`.
pub const RENEWALS: &str = "idem_renewals_total";
/// Records that are claimed by this process now, by `route`.
pub const IN_FLIGHT: &str = "idem_claims_in_flight";
/// How long bodies ran, in seconds, by `route` and `result`.
pub const BODY_SECONDS: &str = "idem_body_seconds";
/// How long the store took, in seconds, by `operation`.
pub const STORE_SECONDS: &str = "idem_store_seconds";
/// Statements of the store that failed, by `operation` and `fault`.
pub const STORE_FAULTS: &str = "idem_store_faults_total";
/// Records that sweeps in the background expired or deleted, by `sweep`.
pub const SWEPT: &str = "idem_swept_total";
/// Rounds of the maintenance in the background, by `result`.
pub const MAINTENANCE_ROUNDS: &str = "idem_maintenance_rounds_total";

/// Events that were published and committed, by `event`.
pub const OUTBOX_PUBLISHED: &str = "idem_outbox_published_total";
/// Events that were handed out, by `event` and `fate`.
pub const OUTBOX_DELIVERIES: &str = "idem_outbox_deliveries_total";
/// From the publication of an event until all its handlers had it, in seconds, by `event`.
pub const OUTBOX_LAG_SECONDS: &str = "idem_outbox_lag_seconds";

/// Bounds of histogram buckets in seconds that fit all of ours, from a fast statement to a long body.
pub const BUCKETS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

/// Tells the recorder of this program what each metric counts, and in which unit.
pub fn describe() {
    describe_counter!(REQUESTS, Unit::Count, "Guarded calls that ended");
    describe_counter!(
        UNCLAIMED_ANSWERS,
        Unit::Count,
        "2xx answers of delegating handlers that claimed nothing"
    );
    describe_counter!(ATTEMPTS, Unit::Count, "Attempts that ended");
    describe_counter!(RECLAIMS, Unit::Count, "Records taken over from an earlier attempt");
    describe_counter!(WAITS, Unit::Count, "Duplicates that waited for their twin");
    describe_counter!(RENEWALS, Unit::Count, "Renewals of leases");
    describe_gauge!(IN_FLIGHT, Unit::Count, "Records claimed by this process now");
    describe_histogram!(BODY_SECONDS, Unit::Seconds, "How long guarded bodies ran");
    describe_histogram!(STORE_SECONDS, Unit::Seconds, "How long the store took");
    describe_counter!(STORE_FAULTS, Unit::Count, "Statements of the store that failed");
    describe_counter!(SWEPT, Unit::Count, "Records expired or deleted in the background");
    describe_counter!(MAINTENANCE_ROUNDS, Unit::Count, "Rounds of the maintenance in the background");
    describe_counter!(OUTBOX_PUBLISHED, Unit::Count, "Events that were published and committed");
    describe_counter!(OUTBOX_DELIVERIES, Unit::Count, "Events that were handed out");
    describe_histogram!(OUTBOX_LAG_SECONDS, Unit::Seconds, "From an event's publication to its delivery");
}
