//! Text with units in it: pieces that the cursor does not enter. Cut, undo and paste use this form.

use crate::chat::images;

/// A piece of text that is one to the cursor and is shown by its label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit {
    /// Where it begins, in bytes.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The label shown instead of its text.
    pub(crate) label: String,
    pub(crate) kind: Kind,
}

/// Kind of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A long paste, whose text is sent.
    Paste,
    /// An image with its absolute path. Its label is sent where it is; the text below it does not count.
    Image(String),
}

/// Text with units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// The text, pastes included.
    pub(crate) text: String,
    /// The units, from left to right; they do not overlap.
    pub(crate) units: Vec<Unit>,
}

impl Fragment {
    /// Text without units.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), units: Vec::new() }
    }

    /// Text that is one unit.
    pub(crate) fn pasted(text: String) -> Self {
        let lines = text.trim_end_matches('\n').split('\n').count();
        let label = if lines > 1 {
            format!("[pasted {lines} lines]")
        } else {
            format!("[pasted {} characters]", text.chars().count())
        };
        Self::unit(text, label, Kind::Paste)
    }

    pub(crate) fn image(path: &str) -> Self {
        let label = images::marker(path);
        Self::unit(label.clone(), label, Kind::Image(path.to_owned()))
    }

    /// Text with images: each is at its marker, or at the end if it has none. `made` converts the text between
    /// them.
    pub(crate) fn with_images(text: &str, paths: &[String], made: fn(String) -> Self) -> Self {
        let (mut out, mut behind) = (Self::default(), Self::default());
        let mut from = 0;
        for (path, place) in paths.iter().zip(images::places(text, paths)) {
            match place {
                Some(place) => {
                    out.push(made(text[from..place.start].to_owned()));
                    out.push(Self::image(path));
                    from = place.end;
                }
                None => behind.push(Self::image(path)),
            }
        }
        out.push(made(text[from..].to_owned()));
        out.push(behind);
        out.number_images();
        out
    }

    fn unit(text: String, label: String, kind: Kind) -> Self {
        let unit = Unit { start: 0, end: text.len(), label, kind };
        Self { text, units: vec![unit] }
    }

    /// Appends another fragment.
    pub(crate) fn push(&mut self, other: Self) {
        let shift = self.text.len();
        self.text.push_str(&other.text);
        self.units.extend(other.units.into_iter().map(|unit| unit.moved(shift)));
    }

    /// Distinguishes images of the same name. The labels of other images change when one is added or removed.
    pub(crate) fn number_images(&mut self) {
        let markers = images::markers(&self.images());
        let units = self.units.iter_mut().filter(|unit| matches!(unit.kind, Kind::Image(_)));
        units.zip(markers).for_each(|(unit, marker)| unit.label = marker);
    }

    /// The text that is sent: with the labels of images.
    pub(crate) fn sent(&self) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut from = 0;
        for unit in self.units.iter().filter(|unit| matches!(unit.kind, Kind::Image(_))) {
            out.push_str(&self.text[from..unit.start]);
            out.push_str(&unit.label);
            from = unit.end;
        }
        out + &self.text[from..]
    }

    /// The images, in their order.
    pub(crate) fn images(&self) -> Vec<String> {
        let path = |unit: &Unit| match &unit.kind {
            Kind::Image(path) => Some(path.clone()),
            Kind::Paste => None,
        };
        self.units.iter().filter_map(path).collect()
    }
}

impl Unit {
    /// The same unit further right.
    pub(crate) fn moved(mut self, shift: usize) -> Self {
        self.start += shift;
        self.end += shift;
        self
    }

    /// The same unit further left.
    pub(crate) fn moved_back(mut self, shift: usize) -> Self {
        self.start -= shift;
        self.end -= shift;
        self
    }
}
