//! Copying and comparing memory, for the static binary.
//!
//! musl copies with `rep movsq`, which takes the time of a page for a word, and compares byte
//! by byte. Nearly all that an analysis copies or compares is shorter than 32 bytes: here that
//! is a load from each end.
#![expect(unsafe_code, reason = "what the C library defines takes pointers")]

use std::cmp::Ordering;
use std::ffi::c_int;

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::uint8x16_t as Wide;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m128i as Wide;
#[cfg(not(any(target_arch = "aarch64", target_arch = "x86_64")))]
type Wide = u128;

/// The bytes of two wide loads.
const BLOCK: usize = 2 * size_of::<Wide>();

/// # Safety
/// There are as many bytes as `T` has behind `at`.
unsafe fn load<T>(from: *const u8, at: usize) -> T {
    // SAFETY: the caller's promise; each `T` here is valid for any bytes.
    unsafe { from.add(at).cast::<T>().read_unaligned() }
}

/// # Safety
/// The same.
unsafe fn store<T>(to: *mut u8, at: usize, value: T) {
    // SAFETY: the caller's promise.
    unsafe { to.add(at).cast::<T>().write_unaligned(value) }
}

/// Copies the first bytes and the last ones; all are read before any is written.
///
/// # Safety
/// `len` is that of one to two `T`.
#[inline(always)]
unsafe fn copy_ends<T>(to: *mut u8, from: *const u8, len: usize) {
    let last = len - size_of::<T>();
    // SAFETY: both ends are within `len`.
    unsafe {
        let (head, tail): (T, T) = (load(from, 0), load(from, last));
        store(to, 0, head);
        store(to, last, tail);
    }
}

/// Copies up to a block; the places may overlap.
///
/// # Safety
/// `len` is at most [`BLOCK`], and both places are that long.
#[inline(always)]
unsafe fn copy_short(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: each copy is for lengths of one to two of its type.
    unsafe {
        if len >= 16 {
            copy_ends::<Wide>(to, from, len);
        } else if len >= 8 {
            copy_ends::<u64>(to, from, len);
        } else if len >= 4 {
            copy_ends::<u32>(to, from, len);
        } else if len >= 2 {
            copy_ends::<u16>(to, from, len);
        } else if len == 1 {
            store(to, 0, load::<u8>(from, 0));
        }
    }
}

/// Copies from the front; what lies behind in `from` may be what is written.
///
/// # Safety
/// `len` is at least [`BLOCK`], and both places are that long.
unsafe fn copy_forward(to: *mut u8, from: *const u8, len: usize) {
    let last = len - BLOCK;
    // SAFETY: all places up to `last` have a block behind them.
    unsafe {
        let tail: (Wide, Wide) = (load(from, last), load(from, last + BLOCK / 2));
        let mut at = 0;
        while at < last {
            copy_ends::<Wide>(to.add(at), from.add(at), BLOCK);
            at += BLOCK;
        }
        store(to, last, tail.0);
        store(to, last + BLOCK / 2, tail.1);
    }
}

/// # Safety
/// Both places are `len` bytes long and do not overlap.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        match len <= BLOCK {
            true => copy_short(to, from, len),
            false => copy_forward(to, from, len),
        }
    }
    to
}

/// # Safety
/// Both places are `len` bytes long.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    let is_behind = to.addr().wrapping_sub(from.addr()) < len;
    // SAFETY: the caller's promise; what is still to be read is never written before.
    unsafe {
        if len <= BLOCK || !is_behind {
            return memcpy(to, from, len);
        }
        let head: (Wide, Wide) = (load(from, 0), load(from, BLOCK / 2));
        let mut end = len;
        while end > BLOCK {
            end -= BLOCK;
            copy_ends::<Wide>(to.add(end), from.add(end), BLOCK);
        }
        store(to, 0, head.0);
        store(to, BLOCK / 2, head.1);
    }
    to
}

/// How the first words that differ are ordered.
///
/// # Safety
/// Both places are `len` bytes long.
#[inline(always)]
unsafe fn compare(one: *const u8, other: *const u8, len: usize) -> Ordering {
    // The first byte counts most.
    // SAFETY: the caller has the bytes of a word at `at`.
    let at_word = |at| unsafe {
        let (a, b): (u64, u64) = (load(one, at), load(other, at));
        u64::from_be(a).cmp(&u64::from_be(b))
    };
    let mut at = 0;
    while len - at >= size_of::<u64>() {
        match at_word(at) {
            Ordering::Equal => at += size_of::<u64>(),
            order => return order,
        }
    }
    if len >= size_of::<u64>() {
        return at_word(len - size_of::<u64>());
    }
    while at < len {
        // SAFETY: `at` is within `len`.
        let (a, b): (u8, u8) = unsafe { (load(one, at), load(other, at)) };
        match a.cmp(&b) {
            Ordering::Equal => at += 1,
            order => return order,
        }
    }
    Ordering::Equal
}

/// # Safety
/// Both places are `len` bytes long.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, len: usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { compare(one, other, len) as c_int }
}

/// # Safety
/// Both places are `len` bytes long.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn bcmp(one: *const u8, other: *const u8, len: usize) -> c_int {
    // SAFETY: the caller's promise.
    let differs = unsafe {
        match len {
            0 => false,
            1 => load::<u8>(one, 0) != load::<u8>(other, 0),
            2..4 => ends_differ::<u16>(one, other, len),
            4..8 => ends_differ::<u32>(one, other, len),
            _ => compare(one, other, len) != Ordering::Equal,
        }
    };
    c_int::from(differs)
}

/// Whether the first bytes differ, or the last ones.
///
/// # Safety
/// `len` is that of one to two `T`, and both places are that long.
#[inline(always)]
unsafe fn ends_differ<T: PartialEq>(one: *const u8, other: *const u8, len: usize) -> bool {
    let last = len - size_of::<T>();
    // SAFETY: both ends are within `len`.
    unsafe {
        load::<T>(one, 0) != load::<T>(other, 0) || load::<T>(one, last) != load::<T>(other, last)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let len = prop_oneof![0..80usize, 80..400usize];
        len.prop_flat_map(|len| proptest::collection::vec(any::<u8>(), len))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 64 } else { 4_096 }))]

        #[test]
        fn a_copy_is_the_same(from in bytes(), around in 0..9usize) {
            let mut to = vec![7; from.len() + 2 * around];
            let mut expected = to.clone();
            expected[around..around + from.len()].copy_from_slice(&from);
            // SAFETY: `to` is as long as `from` behind `around`.
            unsafe { memcpy(to.as_mut_ptr().add(around), from.as_ptr(), from.len()) };
            prop_assert_eq!(to, expected);
        }

        #[test]
        fn a_copy_may_overlap(mut all in bytes(), from in 0..90usize, to in 0..90usize) {
            let len = all.len().saturating_sub(from.max(to));
            let (from, to) = (from.min(all.len()), to.min(all.len()));
            let mut expected = all.clone();
            expected.copy_within(from..from + len, to);
            let start = all.as_mut_ptr();
            // SAFETY: `len` bytes are behind both places.
            unsafe { memmove(start.add(to), start.add(from), len) };
            prop_assert_eq!(all, expected);
        }

        #[test]
        fn bytes_are_ordered_as_slices_are(one in bytes(), at in 0..400usize, byte in any::<u8>()) {
            let mut other = one.clone();
            let at = at % one.len().max(1);
            if let Some(changed) = other.get_mut(at) {
                *changed = byte;
            }
            // SAFETY: both are as long as the first.
            let (found, same) = unsafe {
                let (one, other, len) = (one.as_ptr(), other.as_ptr(), one.len());
                (memcmp(one, other, len), bcmp(one, other, len))
            };
            prop_assert_eq!(found.cmp(&0), one.cmp(&other));
            prop_assert_eq!(same == 0, one == other);
        }
    }
}
