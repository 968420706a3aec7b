// The end of a thread that has started stores of the copy engine.
#pragma once

namespace machine {

class BlockObserver;
struct Thread;

// Stores that were not waited for are made now. It is a hazard if one of them has not read shared
// memory, which the block gives back.
void end_bulk_stores(Thread& thread, BlockObserver* observer);

}  // namespace machine
