// Attributes of streams and launches. They are kept, and have no effect.
#include <algorithm>

#include "cuda/headers/cuda_runtime_api.h"
#include "host/call.h"
#include "host/handles.h"
#include "host/stream.h"

using namespace host;

cudaError_t cudaStreamSetAttribute(
    cudaStream_t stream, cudaStreamAttrID attribute, const cudaStreamAttrValue* value) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (value == nullptr) return call.fails(cudaErrorInvalidValue, "there is no value");
  if (!is_default(stream)) stream->attributes[attribute] = *value;
  return cudaSuccess;
}

cudaError_t cudaStreamGetAttribute(
    cudaStream_t stream, cudaStreamAttrID attribute, cudaStreamAttrValue* value) {
  const Call call;
  if (!is_stream(stream)) return call.fails(cudaErrorInvalidResourceHandle, kNoStream);
  if (value == nullptr) return call.fails(cudaErrorInvalidValue, "there is no result");
  *value = {};
  if (is_default(stream)) return cudaSuccess;
  const auto set = stream->attributes.find(attribute);
  if (set != stream->attributes.end()) *value = set->second;
  return cudaSuccess;
}

cudaError_t cudaCtxResetPersistingL2Cache() {
  const Call call;
  return cudaSuccess;
}

cudaError_t simt::check_attributes(const cudaLaunchConfig_t* config) {
  const Call call("cudaLaunchKernelEx");
  if (config == nullptr) return call.fails(cudaErrorInvalidValue, "there is no configuration");
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    const auto& cluster = attribute.val.clusterDim;
    if (attribute.id == cudaLaunchAttributeClusterDimension &&
        std::max({cluster.x, cluster.y, cluster.z}) > 1) {
      return call.fails(
          cudaErrorNotSupported, "clusters of blocks do not run on a CPU here; launch without one");
    }
  }
  return cudaSuccess;
}
