//! Keyed tags of top-level members, by which a conflict names the members that changed and shows no value.

use std::collections::{BTreeMap, BTreeSet};

use data_encoding::HEXLOWER;
use hmac::Mac;
use serde::{Deserialize, Serialize};

use super::canonical::compare_names;
use super::{Fingerprint, Keyring, MAX_MEMBERS, Secret};

/// Bytes of a keyed hash that are stored: enough to notice a change, no more.
const TAG: usize = 8;

/// The stored form.
#[derive(Serialize, Deserialize)]
struct Sealed {
    secret: String,
    members: BTreeMap<String, String>,
}

impl Keyring {
    /// The text to store beside the fingerprint: a JSON object with the secret's id and a short keyed tag per
    /// member.
    ///
    /// `None` without a current secret, as plain tags could be guessed, and when the payload has no members.
    ///
    /// ```
    /// use idem_runtime::fingerprint::{Fingerprint, Keyring, Secret};
    ///
    /// let request = Fingerprint::json(br#"{"amount": 5}"#)?;
    /// let keyring = Keyring::new(Secret::new("k1", &[1; 32])?);
    /// let stored = keyring.seal_members(&request).unwrap();
    /// assert!(stored.starts_with(r#"{"secret":"k1","members":{"amount":""#));
    /// assert_eq!(Keyring::plain().seal_members(&request), None);
    /// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
    /// ```
    #[must_use]
    pub fn seal_members(&self, fingerprint: &Fingerprint) -> Option<String> {
        let secret = self.current()?;
        if fingerprint.members.is_empty() {
            return None;
        }
        let tagged = |(name, digest): &(String, [u8; 32])| (name.clone(), tag(secret, name, digest));
        let members = fingerprint.members.iter().map(tagged).collect();
        serde_json::to_string(&Sealed { secret: secret.id().to_owned(), members }).ok()
    }

    /// The sorted names of members that were added, removed or changed since `stored` was sealed.
    ///
    /// Empty when `stored` is malformed or its secret is unknown. Of a payload with more members than are
    /// told apart only those are named that both sides know.
    ///
    /// ```
    /// use idem_runtime::fingerprint::{Fingerprint, Keyring, Secret};
    ///
    /// let keyring = Keyring::new(Secret::new("k1", &[1; 32])?);
    /// let stored = keyring.seal_members(&Fingerprint::json(br#"{"amount": 5, "to": "a"}"#)?).unwrap();
    /// let other = Fingerprint::json(br#"{"amount": 6, "to": "a"}"#)?;
    /// assert_eq!(keyring.changed_members(&other, &stored), ["amount"]);
    /// # Ok::<(), idem_runtime::fingerprint::FingerprintError>(())
    /// ```
    #[must_use]
    pub fn changed_members(&self, fingerprint: &Fingerprint, stored: &str) -> Vec<String> {
        let Some(sealed) = parse_sealed(stored) else {
            return Vec::new();
        };
        let secrets: Vec<_> = self.named(&sealed.secret).collect();
        if secrets.is_empty() {
            return Vec::new();
        }
        let unchanged = |name: &str| {
            let before = sealed.members.get(name);
            let now = fingerprint.members.iter().find(|(candidate, _)| candidate == name);
            before.zip(now).is_some_and(|(before, (_, digest))| {
                secrets.iter().any(|secret| tag(secret, name, digest) == *before)
            })
        };
        let now: Vec<&str> = fingerprint.members.iter().map(|(name, _)| name.as_str()).collect();
        let before: Vec<&str> = sealed.members.keys().map(String::as_str).collect();
        let horizons = [last_known(&now), last_known(&before)];
        let names: BTreeSet<&str> = now.into_iter().chain(before).collect();
        names
            .into_iter()
            .filter(|name| horizons.iter().flatten().all(|last| compare_names(name, last).is_le()))
            .filter(|name| !unchanged(name))
            .map(str::to_owned)
            .collect()
    }
}

/// The last name of a full list: what comes after it may have been left out and cannot be judged.
fn last_known<'a>(names: &[&'a str]) -> Option<&'a str> {
    let last = names.iter().copied().max_by(|left, right| compare_names(left, right));
    last.filter(|_| names.len() >= MAX_MEMBERS)
}

fn tag(secret: &Secret, name: &str, digest: &[u8; 32]) -> String {
    let mac = secret.mac(&[b"idem-member-v1", name.as_bytes(), digest]).finalize().into_bytes();
    HEXLOWER.encode(&mac[..TAG])
}

fn parse_sealed(stored: &str) -> Option<Sealed> {
    let sealed: Sealed = serde_json::from_str(stored).ok()?;
    let well_formed = |tag: &String| HEXLOWER.decode(tag.as_bytes()).is_ok_and(|bytes| bytes.len() == TAG);
    sealed.members.values().all(well_formed).then_some(sealed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyring() -> Keyring {
        Keyring::new(Secret::new("k1", &[1; 32]).unwrap())
    }

    fn changed(before: &str, now: &str) -> Vec<String> {
        let stored = keyring().seal_members(&Fingerprint::json(before.as_bytes()).unwrap()).unwrap();
        keyring().changed_members(&Fingerprint::json(now.as_bytes()).unwrap(), &stored)
    }

    #[test]
    fn added_removed_and_changed_members_are_named_sorted() {
        assert_eq!(
            changed(r#"{"z":1,"same":{"x":1.0},"b":1}"#, r#"{"same":{"x":1},"b":2,"a":0}"#),
            ["a", "b", "z"]
        );
        assert_eq!(changed(r#"{"a":1}"#, r#"{"a":1,"b":null}"#), [""; 0]);
        assert_eq!(changed(r#"{"a":1}"#, "[1]"), ["a"]);
        assert_eq!(changed(r#"{"a\"\n":1}"#, r#"{"a\"\n":2}"#), ["a\"\n"]);
    }

    #[test]
    fn a_rotated_secret_still_names_the_changes() {
        let stored = keyring().seal_members(&Fingerprint::json(br#"{"a":1,"b":1}"#).unwrap()).unwrap();
        let later =
            Keyring::new(Secret::new("k2", &[2; 32]).unwrap()).accept(Secret::new("k1", &[1; 32]).unwrap());
        let now = Fingerprint::json(br#"{"a":1,"b":2}"#).unwrap();
        assert_eq!(later.changed_members(&now, &stored), ["b"]);
        assert_eq!(Keyring::plain().changed_members(&now, &stored), [""; 0]);
    }

    #[test]
    fn what_is_malformed_names_nothing() {
        let now = Fingerprint::json(br#"{"a":1}"#).unwrap();
        for stored in [
            "",
            "{}",
            "[]",
            "null",
            r#"{"secret":"k1"}"#,
            r#"{"secret":"k1","members":{"a":"00"}}"#,
            r#"{"secret":"k1","members":{"a":"xxxxxxxxxxxxxxxx"}}"#,
            r#"{"secret":"k9","members":{"a":"0000000000000000"}}"#,
        ] {
            assert_eq!(keyring().changed_members(&now, stored), [""; 0], "{stored}");
        }
    }

    #[test]
    fn equal_values_of_different_members_have_different_tags() {
        let stored = keyring().seal_members(&Fingerprint::json(br#"{"a":1,"b":1}"#).unwrap()).unwrap();
        let sealed = parse_sealed(&stored).unwrap();
        assert_ne!(sealed.members["a"], sealed.members["b"]);
    }

    #[test]
    fn a_member_that_only_crossed_the_limit_is_not_named() {
        let object = |names: &mut dyn Iterator<Item = usize>| {
            let members: Vec<_> = names.map(|index| format!("\"m{index:03}\":{index}")).collect();
            format!("{{{}}}", members.join(","))
        };
        let (without_first, all) = (object(&mut (1..100)), object(&mut (0..100)));
        assert_eq!(changed(&without_first, &all), ["m000"]);
        assert_eq!(changed(&all, &without_first), ["m000"]);
        assert_eq!(changed(&all, &object(&mut (0..10))).len(), 54);
    }
}
