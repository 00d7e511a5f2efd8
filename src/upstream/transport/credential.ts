/**
 * The access token, hidden in a closure: no property, text form, JSON or inspection of this object shows it.
 * `authorize` is the only place of the program that adds a token to a request.
 */
export interface Credential {
  /** Returns the path and query to send: `path`, with the token as a query parameter if there is a token. */
  authorize(path: string): string
}

export function createCredential(accessToken: string | undefined): Credential {
  const query = accessToken ? String(new URLSearchParams({ accessToken })) : ''
  return Object.freeze({
    authorize(path: string): string {
      if (query === '') return path
      return `${path}${path.includes('?') ? '&' : '?'}${query}`
    },
  })
}
