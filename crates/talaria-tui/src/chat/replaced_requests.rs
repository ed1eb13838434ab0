//! Requests that another one replaced before they were closed. Their drafts are restored when they are shown again.
//! Called by `Chat`.

use talaria_core::ids::TicketId;

use super::panel::{Panel, Request};

/// The replaced ones; never more than open requests.
#[derive(Debug, Default)]
pub(super) struct ReplacedRequests(Vec<Panel>);

impl ReplacedRequests {
    /// Stores a replaced request.
    pub(super) fn put(&mut self, mut panel: Panel) {
        panel.was_hidden();
        self.0.push(panel);
    }

    /// Returns one as it was. It is new on the screen: no key answers at once.
    pub(super) fn take(&mut self, request: &Request) -> Option<Panel> {
        let at = self.0.iter().position(|panel| *panel.ticket() == request.ticket)?;
        let mut panel = self.0.remove(at);
        panel.renew(request.scene.clone());
        if !panel.is_sent() {
            panel.offer_keyboard();
        }
        Some(panel)
    }

    /// Its answer was not taken: it is asked from the beginning.
    pub(super) fn forget_refused(&mut self, ticket: &TicketId) {
        self.0.retain(|panel| panel.ticket() != ticket);
    }

    /// Forgets those that are not asked any more. Had a line been begun for one?
    pub(super) fn forget(&mut self, is_open: impl Fn(&TicketId) -> bool) -> bool {
        self.0.extract_if(.., |panel| !is_open(panel.ticket())).filter(Panel::has_line).count() > 0
    }
}
