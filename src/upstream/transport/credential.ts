/**
 * The access token, closed over: no property, text form, JSON or inspection of it shows the value.
 * `authorize` is the only place of the program in which a token meets a request.
 */
export interface Credential {
  /** The path and query to send: `path`, with the token as its query parameter where there is one. */
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
