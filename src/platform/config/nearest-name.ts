/** The known name that is most similar to a wrong one; undefined if none is similar. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  return nearestByLetters(name, known) ?? nearestByWords(name, known)
}

/** A typing error: up to a third of the letters may be wrong. */
function nearestByLetters(name: string, known: readonly string[]): string | undefined {
  const scored = known
    .map((candidate) => ({ candidate, edits: editDistance(name, candidate) }))
    .filter(({ candidate, edits }) => edits <= candidate.length / 3)
  return scored.sort((a, b) => a.edits - b.edits)[0]?.candidate
}

/** A missing or different word: at least half of the words must match. */
function nearestByWords(name: string, known: readonly string[]): string | undefined {
  const words = new Set(name.split('_'))
  const scored = known
    .map((candidate) => {
      const wanted = candidate.split('_')
      const shared = wanted.filter((word) => words.has(word)).length / wanted.length
      return { candidate, shared }
    })
    .filter(({ shared }) => shared >= 0.5)
  return scored.sort((a, b) => b.shared - a.shared)[0]?.candidate
}

/**
 * The number of letters that must be added, removed or replaced to turn `a` into `b`.
 *
 * Source: Wagner and Fischer, "The String-to-String Correction Problem", Journal of the ACM 21, 1974.
 * @example editDistance('API_PROT', 'API_PORT') // 2
 */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...b].entries()) {
      const replaced = (row[j] ?? 0) + (letter === other ? 0 : 1)
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
