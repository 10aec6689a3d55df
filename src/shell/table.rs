//! What names stand for, laid out while compiling: a command's name is asked of five
//! tables, and a look at one byte of each answers for most of them. Where most words
//! are in no table at all, a sieve says so.

/// Rows by their names.
pub(super) struct Table<T: 'static> {
    rows: &'static [T],
    names: &'static [&'static str],
    /// One more than the place of a row, from the slot of its name on; 0 where none is.
    slots: [u8; N_SLOTS],
}

/// Twice the rows of the largest table.
const N_SLOTS: usize = 512;

/// A name, and where the search for it begins in any table.
#[derive(Clone, Copy)]
pub(super) struct Key<'n> {
    pub(super) name: &'n str,
    slot: usize,
}

impl<'n> Key<'n> {
    pub(super) fn of(name: &'n str) -> Self {
        let slot = slot(name);
        Self { name, slot }
    }
}

/// Where the search for a name begins: told from its length and three of its bytes.
const fn slot(name: &str) -> usize {
    let bytes = name.as_bytes();
    let len = bytes.len();
    if len == 0 {
        return 0;
    }
    let (first, middle, last) = (bytes[0], bytes[len / 2], bytes[len - 1]);
    (first as usize + 37 * middle as usize + 149 * last as usize + 11 * len) % N_SLOTS
}

impl<T> Table<T> {
    /// `names` are those of the rows, in the same order.
    pub(super) const fn new(rows: &'static [T], names: &'static [&'static str]) -> Self {
        assert!(rows.len() == names.len() && names.len() < 256);
        let mut slots = [0; N_SLOTS];
        let mut at = 0;
        while at < names.len() {
            let mut slot = slot(names[at]);
            while slots[slot] != 0 {
                slot = (slot + 1) % N_SLOTS;
            }
            at += 1;
            slots[slot] = at as u8;
        }
        Self { rows, names, slots }
    }

    /// The row that has the name.
    #[inline]
    pub(super) fn get(&self, key: Key<'_>) -> Option<&'static T> {
        let mut slot = key.slot;
        loop {
            let at = usize::from(self.slots[slot]).checked_sub(1)?;
            if self.names[at] == key.name {
                return self.rows.get(at);
            }
            slot = (slot + 1) % N_SLOTS;
        }
    }
}

/// A bit for each of some names, by its hash.
pub(super) struct Sieve([u64; 256]);

impl Sieve {
    pub(super) const fn new() -> Self {
        Self([0; 256])
    }

    pub(super) const fn with(mut self, names: &[&str]) -> Self {
        let mut at = 0;
        while at < names.len() {
            let bit = Hash::of(names[at]).bit();
            self.0[bit / 64] |= 1 << (bit % 64);
            at += 1;
        }
        self
    }

    /// `false` only for what is none of the names.
    pub(super) fn may_hold(&self, name: Hash) -> bool {
        let bit = name.bit();
        self.0[bit / 64] >> (bit % 64) & 1 == 1
    }
}

/// FNV-1a of the bytes so far.
#[derive(Clone, Copy)]
pub(super) struct Hash(u32);

impl Hash {
    pub(super) const NEW: Self = Self(0x811c_9dc5);

    pub(super) const fn and(self, byte: u8) -> Self {
        Self((self.0 ^ byte as u32).wrapping_mul(0x0100_0193))
    }

    pub(super) const fn of(name: &str) -> Self {
        let mut hash = Self::NEW;
        let mut at = 0;
        while at < name.len() {
            hash = hash.and(name.as_bytes()[at]);
            at += 1;
        }
        hash
    }

    /// Fourteen bits, those in which the fewest everyday words are like names.
    const fn bit(self) -> usize {
        (self.0 >> 17) as usize % (1 << 14)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["a", "aa", "aaa", "bash", "bash.exe"];

    #[test]
    fn a_name_is_found_where_others_begin_at_its_slot() {
        static TABLE: Table<&str> = Table::new(&NAMES, &NAMES);
        for name in NAMES {
            assert_eq!(TABLE.get(Key::of(name)), Some(&name));
        }
        for other in ["", "b", "aaaa", "sash", "bash.ex"] {
            assert_eq!(TABLE.get(Key::of(other)), None, "{other}");
        }
    }
}
