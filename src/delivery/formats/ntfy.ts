import { type Chat, withPath } from './chat.ts'

/**
 * A topic of ntfy. One that is protected takes the token as a header of the endpoint. Source: docs.ntfy.sh, "Publishing"; a
 * longer message would become a file.
 */
export const NTFY: Chat = {
  name: 'ntfy',
  maxBytes: 4_096,
  // Without a header that asks for it nothing is read as markup, and there are no mentions.
  mask: (line) => line,
  pathFault: withPath,
  bodyOf: (lines) => ({
    headers: { 'content-type': 'text/plain; charset=utf-8' },
    body: lines.join('\n'),
  }),
  isGone: () => false,
}
