//! The built-in model loop: talks to model providers over three wire families. Everything but `transport` is pure: values
//! in, values out, no I/O, no clock, no environment.
//!
//! Map: `family` names the wire families and `profile` describes providers and models as data. `rendered` is a request as
//! bytes, ready to be sent. `failure` classifies what went wrong. `transport` sends requests.

pub mod failure;
pub mod family;
pub mod profile;
pub mod rendered;
pub mod transport;
