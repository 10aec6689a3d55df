//! Memory in small blocks, without a lock.
//!
//! An analysis takes thousands of blocks of a few bytes and gives them back at once. dlmalloc
//! takes a lock each time and looks for the place that fits best; here a block that was given
//! back waits for the next one of its size, on the thread that gave it back. What is not
//! small, and what small blocks are cut from, is taken from the allocator behind.
//!
//! A block never gets another size, so a process holds what it needed of each size at a
//! time. What waits on a thread stays taken when the thread ends.
#![expect(unsafe_code, reason = "an allocator gives out raw memory")]

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ptr;

/// Sizes are rounded up to a multiple of this, and every block is aligned to it.
const STEP: usize = 16;

/// Small is up to half a kilobyte.
const SIZES: usize = 32;

/// Bytes taken at once to cut blocks from; more would only be touched earlier.
const SLAB: usize = 2 << 10;

/// A block nobody has.
struct Free {
    next: *mut Self,
}

/// What waits on a thread, by size, and the rest of what blocks are cut from.
struct Lists {
    free: [*mut Free; SIZES],
    slab: *mut u8,
    left: usize,
}

thread_local! {
    // A pointer, not the lists: musl has room for a few words without asking the kernel.
    static LISTS: Cell<*mut Lists> = const { Cell::new(ptr::null_mut()) };
}

/// An allocator that has the small blocks, and the one that has the rest.
pub(crate) struct Heap<Rest>(pub(crate) Rest);

/// In which list a block waits; `None` where it is not small.
const fn list_of(layout: Layout) -> Option<usize> {
    let list = layout.size().wrapping_sub(1) / STEP;
    if list < SIZES && layout.align() <= STEP {
        Some(list)
    } else {
        None
    }
}

impl<Rest: GlobalAlloc> Heap<Rest> {
    /// This thread's lists; null where there is no memory for them.
    fn lists(&self) -> *mut Lists {
        let lists = LISTS.get();
        if lists.is_null() {
            return self.first_lists();
        }
        lists
    }

    #[cold]
    fn first_lists(&self) -> *mut Lists {
        // SAFETY: the layout has a size, and zeros are null pointers and nothing left.
        let lists = unsafe { self.0.alloc_zeroed(Layout::new::<Lists>()) };
        LISTS.set(lists.cast());
        lists.cast()
    }

    /// A block nobody had before.
    ///
    /// # Safety
    /// The lists are this thread's.
    #[cold]
    unsafe fn cut(&self, lists: *mut Lists, list: usize) -> *mut u8 {
        let size = (list + 1) * STEP;
        // SAFETY: only this thread has the lists, and has no other reference to them here.
        // `left` bytes behind `slab` are unused; a slab and what is cut from it are
        // multiples of `STEP`, so that each block is aligned to it.
        unsafe {
            let lists = &mut *lists;
            if lists.left < size {
                let slab = self.0.alloc(Layout::from_size_align_unchecked(SLAB, STEP));
                if slab.is_null() {
                    return slab;
                }
                (lists.slab, lists.left) = (slab, SLAB);
            }
            let block = lists.slab;
            lists.slab = block.add(size);
            lists.left -= size;
            block
        }
    }
}

// SAFETY: a block is somebody's or in one list: who takes it unlinks it, and who has it gives
// it back once. A block is as long as the longest layout of its list and aligned to `STEP`.
// Who has a block follows from its layout, which is passed again when it is given back.
// `LISTS` has no destructor, so a thread may allocate until it ends. Nothing here panics.
unsafe impl<Rest: GlobalAlloc> GlobalAlloc for Heap<Rest> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(list) = list_of(layout) else {
            // SAFETY: the caller's promise is passed on.
            return unsafe { self.0.alloc(layout) };
        };
        let lists = self.lists();
        if lists.is_null() {
            return ptr::null_mut();
        }
        // SAFETY: the lists are this thread's, and what is in one holds a `Free`.
        unsafe {
            let block = (*lists).free[list];
            if block.is_null() {
                return self.cut(lists, list);
            }
            (*lists).free[list] = (*block).next;
            block.cast()
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(list) = list_of(layout) else {
            // SAFETY: the caller's promise is passed on.
            return unsafe { self.0.dealloc(block, layout) };
        };
        let lists = self.lists();
        if lists.is_null() {
            return;
        }
        let block: *mut Free = block.cast();
        // SAFETY: the lists are this thread's; the caller has done with the block, which is
        // long enough for a `Free` and aligned.
        unsafe {
            (*block).next = (*lists).free[list];
            (*lists).free[list] = block;
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if list_of(layout).is_none() {
            // SAFETY: the caller's promise is passed on.
            return unsafe { self.0.alloc_zeroed(layout) };
        }
        // SAFETY: a block is as long as its layout.
        unsafe {
            let block = self.alloc(layout);
            if !block.is_null() {
                block.write_bytes(0, layout.size());
            }
            block
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size fits the alignment. Both blocks are as
        // long as what is copied from one into the other.
        unsafe {
            let wanted = Layout::from_size_align_unchecked(size, layout.align());
            match (list_of(layout), list_of(wanted)) {
                (None, None) => return self.0.realloc(block, layout, size),
                (Some(here), Some(there)) if here == there => return block,
                _ => {}
            }
            let moved = self.alloc(wanted);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use std::alloc::{GlobalAlloc, Layout, System};

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{Heap, SIZES, STEP};

    const HEAP: Heap<System> = Heap(System);

    /// A block with the byte it is filled with.
    struct Block {
        at: *mut u8,
        layout: Layout,
        byte: u8,
    }

    // SAFETY: nobody else has the block.
    unsafe impl Send for Block {}

    impl Block {
        fn new(size: usize, align: usize, byte: u8) -> Self {
            let layout = Layout::from_size_align(size, align).expect("a layout");
            // SAFETY: the layout has a size.
            let at = unsafe { HEAP.alloc_zeroed(layout) };
            assert!(!at.is_null() && at.addr().is_multiple_of(align));
            let block = Self { at, layout, byte };
            assert!(block.bytes().iter().all(|byte| *byte == 0), "not zeroed");
            block.filled()
        }

        fn filled(self) -> Self {
            // SAFETY: the block is as long as its layout.
            unsafe { self.at.write_bytes(self.byte, self.layout.size()) };
            self
        }

        fn bytes(&self) -> &[u8] {
            // SAFETY: all of the block was written.
            unsafe { std::slice::from_raw_parts(self.at, self.layout.size()) }
        }

        fn check(&self) {
            assert!(self.bytes().iter().all(|byte| *byte == self.byte));
        }

        fn resized(mut self, size: usize) -> Self {
            let kept = size.min(self.layout.size());
            // SAFETY: the block has this layout, and the size is one of an allocation.
            self.at = unsafe { HEAP.realloc(self.at, self.layout, size) };
            self.layout = Layout::from_size_align(kept, self.layout.align()).expect("a layout");
            self.check();
            self.layout = Layout::from_size_align(size, self.layout.align()).expect("a layout");
            self.filled()
        }

        fn free(self) {
            self.check();
            // SAFETY: the block has this layout, and this is its last use.
            unsafe { HEAP.dealloc(self.at, self.layout) };
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 256 }))]

        #[test]
        fn a_block_is_nobody_elses(
            steps in vec((1..SIZES * STEP + 64, 0u32..6, any::<u8>(), 0usize..3), 1..200)
        ) {
            let mut blocks: Vec<Block> = Vec::new();
            for (size, align, byte, what) in steps {
                let at = usize::from(byte) % blocks.len().max(1);
                match what {
                    1 if !blocks.is_empty() => blocks.swap_remove(at).free(),
                    2 if !blocks.is_empty() => {
                        let resized = blocks.swap_remove(at).resized(size);
                        blocks.push(resized);
                    }
                    _ => blocks.push(Block::new(size, 1 << align, byte)),
                }
            }
            blocks.into_iter().for_each(Block::free);
        }
    }

    #[test]
    fn a_block_may_be_given_back_on_another_thread() {
        for round in 0..4 {
            let blocks: Vec<Block> = (1..200).map(|n| Block::new(n, 8, round)).collect();
            let back = std::thread::spawn(move || {
                blocks.into_iter().for_each(Block::free);
                (1..200)
                    .map(|n| Block::new(n, 1, round))
                    .collect::<Vec<_>>()
            });
            let more: Vec<Block> = (1..200).map(|n| Block::new(n, 16, !round)).collect();
            let back = back.join().expect("a thread");
            back.into_iter().chain(more).for_each(Block::free);
        }
    }

    #[test]
    fn what_was_given_back_is_given_out_again() {
        let first = Block::new(40, 8, 1);
        let at = first.at;
        first.free();
        assert_eq!(Block::new(48, 16, 2).at, at);
        assert_ne!(Block::new(49, 8, 3).at, at);
    }
}
