import http from 'node:http'
import type { Wire } from '../../bench/truth/answers.ts'
import { createStreamWriter } from '../../bench/truth/stream-file.ts'
import { type Question, questionFrom } from '../../src/upstream/question.ts'
import { listenLocally } from '../support/local-server.ts'

function questionOf(query: URLSearchParams): Question {
  return questionFrom(({ wire, parse, default: absent }) => {
    const text = query.get(wire)
    const parsed = text === null ? { value: absent } : parse(text)
    if ('error' in parsed) throw new Error(`${wire} ${parsed.error}`)
    return parsed.value
  })
}

/** A proxy before an upstream that keeps every answer to a verify request in a file, for bench/truth/stream.ts. */
export async function startRecorder(target: string, file: string) {
  const stream = createStreamWriter(file)
  const fares = new Map<string, number>()
  const server = http.createServer((request, response) => {
    const atMs = Date.now()
    const { pathname, searchParams } = new URL(request.url ?? '/', target)
    const keep = (wire: Wire) => {
      if (!pathname.endsWith('/verify')) return
      const question = questionOf(searchParams)
      const key = JSON.stringify(question)
      fares.set(key, fares.get(key) ?? 1 + fares.size)
      stream.write({ fare: fares.get(key) ?? 0, question, atMs, tookMs: Date.now() - atMs, wire })
    }
    const fail = () => {
      if (!response.destroyed) keep({ failure: 'network' })
      response.destroy()
    }
    // Uncompressed, so that the file has it as text.
    const { 'accept-encoding': _, ...headers } = request.headers
    const forward = http.request(`${target}${request.url ?? '/'}`, { headers }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('error', fail)
      answer.on('data', (chunk: Buffer) => void chunks.push(chunk))
      answer.on('end', () => {
        const body = Buffer.concat(chunks)
        const status = answer.statusCode ?? 502
        const kept = Object.entries(answer.headers).map(([name, value]) => [name, String(value)])
        keep({ status, headers: Object.fromEntries(kept), body: body.toString('utf8') })
        response.writeHead(status, answer.headers)
        response.end(body)
      })
    })
    forward.on('error', fail)
    response.on('close', () => {
      if (!response.writableFinished && !forward.destroyed) keep({ failure: 'timeout' })
      forward.destroy()
    })
    request.pipe(forward)
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    close: async () => {
      await close()
      await stream.close()
    },
  }
}
