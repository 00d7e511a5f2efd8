const NUL = /\0/g

/**
 * Makes text from outside fit for Postgres, JSON and a terminal line.
 *
 * Postgres refuses NUL in text and jsonb, and a lone surrogate in jsonb: one of them in an error message
 * would break the queue job that reports it.
 * @param maxChars longer text is cut, with an ellipsis as its last character.
 */
export function cleanText(text: string, maxChars = 500): string {
  const clean = text.replace(NUL, '').toWellFormed()
  if (clean.length <= maxChars) return clean
  return `${clean.slice(0, maxChars - 1).toWellFormed()}…`
}

/** A part of a URL, decoded; as it is where a percent sign in it stands for itself. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
