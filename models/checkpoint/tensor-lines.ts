export function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(2)} MB`
}

export function weightsIn(tensors: readonly { readonly shape: readonly number[] }[]): string {
  const weights = tensors.reduce((sum, { shape }) => sum + shape.reduce((product, dim) => product * dim, 1), 0)
  return `${weights.toLocaleString('en')} weights in ${tensors.length} tensors`
}

/** A line for each type of tensor, in alphabetical order: how many, and their stored bytes. */
export function typeLines<T extends { readonly bytes: number }>(tensors: readonly T[], typeOf: (tensor: T) => string): string[] {
  return [...new Set(tensors.map(typeOf))].sort().map((type) => {
    const those = tensors.filter((tensor) => typeOf(tensor) === type)
    return `  ${type}: ${those.length} tensors, ${megabytes(those.reduce((sum, { bytes }) => sum + bytes, 0))}`
  })
}
