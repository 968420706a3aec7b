// Streams. The work of each runs when the program asks for it, because then all earlier work has
// finished; or, while the stream is being captured, when the graph is launched.
#pragma once

#include <functional>

#include "cuda/headers/driver_types.h"

namespace host {

inline constexpr const char* kNoStream = "the stream was not created, or was destroyed before";

// Whether the stream exists. The default streams do.
bool is_stream(cudaStream_t stream);

// `work` of the stream, which exists. During a capture it becomes a node of this type, and is
// called later, perhaps several times.
void in_stream(
    cudaStream_t stream, const std::function<void()>& work,
    cudaGraphNodeType type = cudaGraphNodeTypeKernel);

// For cudaDeviceReset: all streams, events and graphs.
void destroy_streams();

}  // namespace host
