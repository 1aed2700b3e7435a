-- The results of the steps that an attempt outside has finished, as one JSON object by name; gone with its success.
ALTER TABLE idempotency_records ADD COLUMN steps text;
