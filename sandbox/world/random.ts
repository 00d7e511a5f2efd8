/**
 * Stateless randomness: a draw depends on its keys alone, so any instant of the world can be computed in any order.
 *
 * Keys are mixed one by one into a 32-bit word: `mix(mix(seed, a), b)`. A route or a flight has one word, and all
 * its draws start from it.
 */
export function mix(word: number, key: number): number {
  return scramble(word ^ scramble((key + GOLDEN) | 0))
}

/** Mixes a text into a word, code unit by code unit. */
export function mixText(word: number, text: string): number {
  let mixed = mix(word, text.length)
  for (let i = 0; i < text.length; i++) mixed = mix(mixed, text.charCodeAt(i))
  return mixed
}

/** A number in [0, 1) with 32 bits. */
export function draw(word: number, key: number): number {
  return (mix(word, key) >>> 0) / 2 ** 32
}

/** An integer in [0, below). */
export function drawInteger(word: number, key: number, below: number): number {
  return Math.floor(draw(word, key) * below)
}

/** An exponential waiting time with mean 1. */
export function drawExponential(word: number, key: number): number {
  return -Math.log(1 - draw(word, key))
}

/** A standard normal number, by Box and Muller. */
export function drawNormal(word: number, key: number): number {
  const own = mix(word, key)
  return Math.sqrt(2 * drawExponential(own, 1)) * Math.cos(2 * Math.PI * draw(own, 2))
}

const GOLDEN = 0x9e3779b9

/** A bijection of 32-bit words in which every input bit changes every output bit (constants: Wellons, 2018). */
function scramble(word: number): number {
  let x = word
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad)
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97)
  return x ^ (x >>> 15)
}
