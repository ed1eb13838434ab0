//! A webhook: the notice as JSON, signed so that the receiver can verify that it is ours and not an old one.
//!
//! `Talaria-Signature: t=SECONDS,v1=HEX`, where HEX is HMAC-SHA256 over `SECONDS.BODY` with the configured secret.
//! `Talaria-Delivery` names the notice and is the same in every attempt, so that a repeat can be recognised.

use futures_util::future::BoxFuture;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use talaria_core::config::NotifyConfig;
use url::Url;

use super::http::{Post, Poster};
use super::secret::Secret;
use super::{Deliver, NotifyError, Parcel, Receipt, json};
use talaria_home::clock::now_ms;

/// The way to one webhook.
#[derive(Debug)]
pub(super) struct Webhook<'a> {
    pub(super) url: &'a Url,
    pub(super) secret: Secret,
    pub(super) config: &'a NotifyConfig,
    pub(super) poster: &'a Poster,
}

impl Deliver for Webhook<'_> {
    fn deliver<'a>(&'a self, parcel: &'a Parcel) -> BoxFuture<'a, Result<Receipt, NotifyError>> {
        Box::pin(async move {
            let body = json(&parcel.notice);
            let signature = sign(&self.secret, now_ms() / 1000, &body)?;
            let headers = vec![("talaria-signature", signature), ("talaria-delivery", parcel.id.clone())];
            let post = Post { content_type: "application/json", headers, body };
            self.poster.post(self.url, post, self.config).await
        })
    }
}

fn sign(secret: &Secret, seconds: i64, body: &str) -> Result<String, NotifyError> {
    let mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes());
    let mut mac = mac.map_err(|_| NotifyError::permanent("the webhook secret cannot be used"))?;
    mac.update(format!("{seconds}.").as_bytes());
    mac.update(body.as_bytes());
    Ok(format!("t={seconds},v1={}", hex::encode(mac.finalize().into_bytes())))
}
