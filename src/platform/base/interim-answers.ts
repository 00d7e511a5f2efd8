import type { Socket } from 'node:net'

const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d\b/
const HEAD_END = '\r\n\r\n'

/**
 * Lets a connection of a client be read without interim answers. A server may send them at any time before its answer
 * (RFC 9110, 15.2.1), and undici 8.13 takes a `100 Continue` that it did not ask for as a broken connection.
 */
export function skipInterimAnswers<T extends Socket>(socket: T): T {
  const read = socket.read.bind(socket)
  const write = socket.write.bind(socket) as (...args: readonly unknown[]) => boolean
  let awaitsAnswer = false
  let rest = Buffer.alloc(0)
  const next = (): Buffer | null => {
    const chunk: Buffer | null = read()
    if (chunk === null || !awaitsAnswer) return chunk
    rest = Buffer.concat([rest, chunk])
    while (INTERIM.test(rest.toString('latin1', 0, 16))) {
      const end = rest.indexOf(HEAD_END)
      if (end < 0) return next()
      rest = rest.subarray(end + HEAD_END.length)
    }
    if (rest.length === 0) return next()
    const answer = rest
    rest = Buffer.alloc(0)
    awaitsAnswer = false
    return answer
  }
  return Object.assign(socket, {
    read: next,
    write: (...args: readonly unknown[]) => {
      awaitsAnswer = true
      return write(...args)
    },
  })
}
