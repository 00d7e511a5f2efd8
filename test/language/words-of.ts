import jsTokens from 'js-tokens'

/** An identifier and the line on which it stands. */
export interface Identifier {
  readonly name: string
  readonly line: number
}

/** A comment or the text of a literal, and the line on which it begins. */
export interface Prose {
  readonly text: string
  readonly line: number
}

/** Splits TypeScript into its identifiers and its prose. A literal without a space is a name, not prose. */
export function wordsOf(source: string): { identifiers: Identifier[]; prose: Prose[] } {
  const identifiers: Identifier[] = []
  const prose: Prose[] = []
  const known = new Set<string>()
  let line = 1
  for (const token of jsTokens(source)) {
    if (token.value === 'allSettled' || known.has(token.value)) {
      // A name of JavaScript, or one that the file has used before.
    } else if (token.type === 'IdentifierName' || token.type === 'PrivateIdentifier') {
      known.add(token.value)
      identifiers.push({ name: token.value, line })
    } else if (/Comment|String|Template/.test(token.type) && token.value.includes(' ')) {
      prose.push({ text: token.value, line })
    }
    line += token.value.split('\n').length - 1
  }
  return { identifiers, prose }
}

/** Splits a name at case, hyphen and underscore: `giveBackTurns` is ` give back turns `, with a space at both ends. */
export function partsOf(name: string): string {
  const parts = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .filter((part) => part !== '')
  return ` ${parts.join(' ').toLowerCase()} `
}
