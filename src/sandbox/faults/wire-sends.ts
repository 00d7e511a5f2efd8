import type { ServerResponse } from 'node:http'
import type { Answer } from '../answer.ts'
import type { Send } from './fault-kind.ts'

/** Ways to send an answer that no HTTP library offers. Each takes a client that hangs up at any moment. */

const FIRST_BYTES = 10
const MEGABYTE = 1_000_000

/** No answer, until the client goes. */
export const hang: Send = (response) => ignoreErrors(response)

/** Headers and some bytes, then nothing. */
export const hangInBody: Send = (response, answer) => {
  begin(response, answer)
  response.write(bytesOf(answer).subarray(0, FIRST_BYTES))
}

/** One byte every `everyMs`, to the end. */
export function dripSender(everyMs: number): Send {
  return (response, answer) => {
    begin(response, answer)
    const bytes = bytesOf(answer)
    let sent = 0
    const timer = setInterval(() => {
      if (sent < bytes.length) response.write(bytes.subarray(sent, ++sent))
      else response.end()
    }, everyMs)
    response.once('close', () => clearInterval(timer))
  }
}

/** The connection is reset before anything is sent. */
export const reset: Send = (response) => {
  ignoreErrors(response)
  response.socket?.resetAndDestroy()
}

/** Half the body is sent, then the connection is reset. */
export const resetInBody: Send = (response, answer) => {
  begin(response, answer)
  response.write(firstHalf(bytesOf(answer)), () => response.socket?.resetAndDestroy())
}

/** Half a chunked body, and an end of the connection in place of the last chunk. */
export const truncate: Send = (response, answer) => {
  begin(response, answer)
  response.write(firstHalf(bytesOf(answer)), () => response.socket?.end())
}

/** The whole body behind a Content-Length that is larger, or smaller, by half the body. */
export function wrongLengthSender(length: 'larger' | 'smaller'): Send {
  return (response, answer) => {
    const bytes = bytesOf(answer)
    const half = Math.ceil(bytes.length / 2)
    const said = length === 'larger' ? bytes.length + half : bytes.length - half
    begin(response, answer, { 'content-length': String(said) })
    // What is over would be read as the next answer of the connection, were it kept.
    response.write(bytes, () => response.socket?.end())
  }
}

/** An opening bracket, so many megabytes of spaces, and a closing one; no more in memory than the client takes. */
export function hugeSender(megabytes: number): Send {
  return (response, answer) => {
    const [open = '', close = ''] = answer.body.toString()
    const spaces = Buffer.alloc(MEGABYTE, ' ')
    begin(response, answer)
    response.write(open)
    let left = megabytes
    const go = (): void => {
      while (left > 0) {
        left -= 1
        if (!response.write(spaces)) {
          response.once('drain', go)
          return
        }
      }
      response.end(close)
    }
    go()
  }
}

function begin(
  response: ServerResponse,
  { status, contentType, headers }: Answer,
  more: Readonly<Record<string, string>> = {},
): void {
  ignoreErrors(response)
  response.writeHead(status, { 'content-type': contentType, ...headers, ...more })
}

function ignoreErrors(response: ServerResponse): void {
  response.on('error', () => undefined)
}

function bytesOf({ body }: Answer): Buffer {
  return typeof body === 'string' ? Buffer.from(body) : body
}

function firstHalf(bytes: Buffer): Buffer {
  return bytes.subarray(0, Math.ceil(bytes.length / 2))
}
