import type { ServerResponse } from 'node:http'
import type { Answer } from '../answer.ts'
import type { Send } from './fault-kind.ts'

/** Ways to send an answer that no HTTP library offers. The client may close the connection at any moment. */

const FIRST_BYTES = 10
const MEGABYTE = 1_000_000

/** Sends nothing. */
export const hang: Send = (response) => ignoreErrors(response)

/** Sends the headers and ten bytes, then nothing. */
export const hangInBody: Send = (response, answer) => {
  begin(response, answer)
  response.write(bytesOf(answer).subarray(0, FIRST_BYTES))
}

/** Sends one byte every `everyMs`, until all are sent. */
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

/** Resets the connection before anything is sent. */
export const reset: Send = (response) => {
  ignoreErrors(response)
  response.socket?.resetAndDestroy()
}

/** Sends half the body, then resets the connection. */
export const resetInBody: Send = (response, answer) => {
  begin(response, answer)
  response.write(firstHalf(bytesOf(answer)), () => response.socket?.resetAndDestroy())
}

/** Sends half a chunked body, then ends the connection without the last chunk. */
export const truncate: Send = (response, answer) => {
  begin(response, answer)
  response.write(firstHalf(bytesOf(answer)), () => response.socket?.end())
}

/** Sends the whole body after a Content-Length that is larger, or smaller, by half the body. */
export function wrongLengthSender(length: 'larger' | 'smaller'): Send {
  return (response, answer) => {
    const bytes = bytesOf(answer)
    const half = Math.ceil(bytes.length / 2)
    const declared = length === 'larger' ? bytes.length + half : bytes.length - half
    begin(response, answer, { 'content-length': String(declared) })
    // On a connection that stays open the client would read the surplus as the next answer.
    response.write(bytes, () => response.socket?.end())
  }
}

/** Sends brackets with so many megabytes of spaces between them, as fast as the client reads. */
export function hugeSender(megabytes: number): Send {
  return (response, answer) => {
    const [open = '', close = ''] = answer.body.toString()
    const spaces = Buffer.alloc(MEGABYTE, ' ')
    begin(response, answer)
    response.write(open)
    let left = megabytes
    const sendMore = (): void => {
      while (left > 0) {
        left -= 1
        if (!response.write(spaces)) {
          response.once('drain', sendMore)
          return
        }
      }
      response.end(close)
    }
    sendMore()
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
