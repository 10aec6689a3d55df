//! The schema of contract files.

use super::schema::schema_of_settings;
use super::*;

#[test]
fn a_contract_has_the_keys_of_a_declared_system_that_only_guard() {
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../contract.schema.json")).unwrap();
    let own = "/properties/systems/additionalProperties/properties";
    let own = schema.pointer(own).unwrap().as_object().unwrap();
    let all = schema_of_settings();
    let declared = all["definitions"]["declared"]["properties"]
        .as_object()
        .unwrap();
    for (key, value) in declared {
        let value = match key.as_str() {
            "enabled" | "open" | "long_lived" => "true",
            "mode" => "warn",
            "site" => "b",
            _ if value["type"] == "object" => "{}",
            _ => "[]",
        };
        let site = if key == "site" { "" } else { "site: a, " };
        let contract = format!("systems: {{x: {{{site}{key}: {value}}}}}\n");
        let resolved =
            Settings::resolve(&[(Layer::Contract, "c", Ok(&contract))], &system::known());
        let place = format!("settings.schema.json#/definitions/declared/properties/{key}");
        let expected = own.get(key).map(|part| part["$ref"].as_str().unwrap());
        let is_taken = resolved.left_out.is_empty();
        assert_eq!(
            expected,
            is_taken.then_some(place.as_str()),
            "{:?}",
            resolved.left_out
        );
    }
    assert!(own.keys().all(|key| declared.contains_key(key)));
}
