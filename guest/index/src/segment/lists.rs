//! Lists of the groups that contain each trigram.

use crate::grams::GRAMS;

/// For each hash of a trigram, the groups that contain it, in ascending order.
#[derive(Default)]
pub struct Lists {
    groups: Vec<u16>,
    /// End of each list in `groups`.
    ends: Vec<usize>,
}

impl Lists {
    /// Creates the lists of groups with the given hashes. The number of a group is its position.
    pub fn new<'g>(grams_of_groups: impl Iterator<Item = &'g [u16]> + Clone) -> Self {
        let mut ends = vec![0; GRAMS];
        for gram in grams_of_groups.clone().flatten() {
            if let Some(count) = ends.get_mut(usize::from(*gram)) {
                *count += 1;
            }
        }
        // First the start of each list, which moves to its end while the list is filled.
        let mut start = 0;
        for count in &mut ends {
            start += std::mem::replace(count, start);
        }
        let mut groups = vec![0; start];
        for (group, grams) in grams_of_groups.enumerate() {
            for gram in grams {
                if let Some(end) = ends.get_mut(usize::from(*gram)) {
                    if let Some(place) = groups.get_mut(*end) {
                        *place = group as u16;
                    }
                    *end += 1;
                }
            }
        }
        Self { groups, ends }
    }

    /// Adds a group to the list of the next hash. Groups are added in ascending order.
    pub fn push(&mut self, group: usize) {
        self.groups.push(group as u16);
    }

    /// Ends the list of the next hash.
    pub fn end_list(&mut self) {
        self.ends.push(self.groups.len());
    }

    /// Returns the groups that contain the trigram with a hash.
    pub fn of(&self, gram: usize) -> &[u16] {
        let start = gram.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(gram).copied().unwrap_or(start);
        self.groups.get(start..end).unwrap_or_default()
    }
}
