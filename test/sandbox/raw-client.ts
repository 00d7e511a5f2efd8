import net from 'node:net'

/** The raw bytes of one connection: an HTTP library would hide half of the faults. */
export interface Received {
  readonly bytes: Buffer
  readonly head: string
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Without the framing of its chunks. */
  readonly body: Buffer
  /** Whether it has its declared length, or its last chunk. */
  readonly complete: boolean
  readonly ended: 'closed' | 'reset' | 'open'
}

export interface PendingResponse {
  /** What has arrived so far. */
  received(): Received
  /** Resolves when the other side has ended the connection. */
  readonly done: Promise<Received>
  hangUp(): void
}

export interface RequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends one request on its own connection. */
export function sendRequest(
  address: string,
  { method = 'GET', headers = {} }: RequestOptions = {},
): PendingResponse {
  const url = new URL(address)
  const lines = Object.entries({ host: url.host, connection: 'close', ...headers })
  const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const parts: Buffer[] = []
  let ended: Received['ended'] = 'open'
  const socket = net.connect(Number(url.port), url.hostname, () => {
    socket.write(`${method} ${url.pathname}${url.search} HTTP/1.1\r\n${text}\r\n`)
  })
  const received = () => read(Buffer.concat(parts), ended)
  const done = new Promise<Received>((resolve) => {
    socket.on('data', (part) => parts.push(part))
    socket.on('end', () => {
      ended = 'closed'
    })
    socket.on('error', () => {
      ended = 'reset'
    })
    socket.on('close', () => resolve(received()))
  })
  return { received, done, hangUp: () => socket.destroy() }
}

function read(bytes: Buffer, ended: Received['ended']): Received {
  const text = bytes.toString('latin1')
  const headEnd = text.indexOf('\r\n\r\n')
  const head = headEnd < 0 ? text : text.slice(0, headEnd)
  const [statusLine = '', ...lines] = head.split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  const status = headEnd < 0 ? undefined : Number(statusLine.split(' ')[1])
  const after = headEnd < 0 ? Buffer.alloc(0) : bytes.subarray(headEnd + 4)
  const bodiless = status === 204 || status === 304
  const { body, complete } = bodiless ? { body: after, complete: true } : unframe(after, headers)
  return { bytes, head, status, headers, body, complete: headEnd >= 0 && complete, ended }
}

function unframe(bytes: Buffer, headers: Readonly<Record<string, string | undefined>>) {
  if (headers['transfer-encoding'] !== 'chunked') {
    return { body: bytes, complete: bytes.length === Number(headers['content-length'] ?? 0) }
  }
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    const size =
      lineEnd < 0 ? Number.NaN : Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    if (size === 0) return { body: Buffer.concat(parts), complete: true }
    if (Number.isNaN(size)) return { body: Buffer.concat(parts), complete: false }
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}
