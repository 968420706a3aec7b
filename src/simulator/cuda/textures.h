// Textures and surfaces are not traced. A kernel that uses one does not compile, and the message
// says so with the line.
#pragma once

namespace simt {
template <class T>
inline constexpr bool kIsTraced = sizeof(T) == 0;
}

template <class T, int dimensions = 1, int mode = 0>
struct texture {
  static_assert(
      simt::kIsTraced<T>, "textures are not traced; read the data from global memory instead");
};
template <class T, int dimensions = 1>
struct surface {
  static_assert(
      simt::kIsTraced<T>, "surfaces are not traced; use an array in global memory instead");
};

#define SIMT_FETCH(name)                                                                       \
  template <class T = float, class... Arguments>                                               \
  [[gnu::error(#name                                                                           \
               " is not traced, nor are other textures; read the data from global memory")]] T \
  name(const Arguments&...);
SIMT_FETCH(tex1Dfetch)
SIMT_FETCH(tex1D)
SIMT_FETCH(tex2D)
SIMT_FETCH(tex3D)
SIMT_FETCH(tex1DLayered)
SIMT_FETCH(tex2DLayered)
SIMT_FETCH(texCubemap)
SIMT_FETCH(tex1DLod)
SIMT_FETCH(tex2DLod)
SIMT_FETCH(tex3DLod)
SIMT_FETCH(tex2Dgather)
SIMT_FETCH(surf1Dread)
SIMT_FETCH(surf2Dread)
SIMT_FETCH(surf3Dread)
SIMT_FETCH(surf1Dwrite)
SIMT_FETCH(surf2Dwrite)
SIMT_FETCH(surf3Dwrite)
#undef SIMT_FETCH
