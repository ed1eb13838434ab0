//! Raw JSON, kept unchanged and read back from inside a tagged value.
//!
//! serde cannot borrow raw text out of a tagged or flattened value, because it has read that value already to find the
//! tag. Here it is written again from what was read; only the order of keys and the spaces may differ.

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;
use serde_json::value::RawValue;

pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<RawValue>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    serde_json::value::to_raw_value(&value).map_err(de::Error::custom)
}

pub(crate) fn read_if_there<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<RawValue>>, D::Error> {
    let value = Option::<Value>::deserialize(deserializer)?;
    value.map(|value| serde_json::value::to_raw_value(&value).map_err(de::Error::custom)).transpose()
}
