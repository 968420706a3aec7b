// Memory that graphs allocate. It is never freed, because the next launch of the graph uses it.
#pragma once

namespace host {

bool is_of_graph(const void* pointer);

// For cudaDeviceReset, which frees everything.
void forget_graph_memory();

}  // namespace host
