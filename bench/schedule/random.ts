/** A seeded stream of random numbers. */
export interface Random {
  /** Uniform in (0, 1). */
  readonly uniform: () => number
  /** Exponential with a mean. */
  readonly exponential: (mean: number) => number
  readonly normal: () => number
  /** Gamma with a shape, and a mean of 1. */
  readonly gamma: (shape: number) => number
}

function splitmix32(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x9e3779b9) | 0
    let z = state ^ (state >>> 16)
    z = Math.imul(z, 0x21f0aaad)
    z ^= z >>> 15
    z = Math.imul(z, 0x735a2d97)
    return (z ^ (z >>> 15)) >>> 0
  }
}

/** sfc32 (Doty-Humphrey, PractRand), seeded by splitmix32. */
export function createRandom(seed: number): Random {
  const next = splitmix32(seed)
  let [a, b, c, d] = [next(), next(), next(), 1]
  const uniform = () => {
    const t = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + t) | 0
    return ((t >>> 0) + 0.5) / 2 ** 32
  }
  for (let i = 0; i < 12; i += 1) uniform()
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())
  return {
    uniform,
    normal,
    exponential: (mean) => -mean * Math.log(uniform()),
    gamma: (shape) => gammaOf(shape, { uniform, normal }) / shape,
  }
}

/** Marsaglia and Tsang, "A simple method for generating gamma variables", 2000. */
function gammaOf(shape: number, random: Pick<Random, 'uniform' | 'normal'>): number {
  if (shape < 1) return gammaOf(shape + 1, random) * random.uniform() ** (1 / shape)
  const d = shape - 1 / 3
  for (;;) {
    const x = random.normal()
    const v = (1 + x / Math.sqrt(9 * d)) ** 3
    if (v > 0 && Math.log(random.uniform()) < 0.5 * x * x + d - d * v + d * Math.log(v))
      return d * v
  }
}

export function shuffled<T>(values: readonly T[], random: Random): T[] {
  return values
    .map((value) => ({ value, key: random.uniform() }))
    .sort((a, b) => a.key - b.key)
    .map(({ value }) => value)
}
