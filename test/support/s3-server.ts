import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { listenLocally } from './local-server.ts'

const [KEY, SECRET, REGION] = ['a key', 'a secret', 'eu-test-1']

export interface S3Server {
  /** The variables by which clients find it. */
  readonly env: Readonly<Record<string, string>>
  /** By bucket and key. */
  readonly objects: Map<string, Buffer>
  /** `METHOD /bucket/key` of each request, in their order. */
  readonly requests: string[]
  /** Requests with this text are refused. */
  refused: string | undefined
}

/** An S3 on loopback for PUT and GET of objects. It refuses wrong signatures and checksums. */
export async function startS3Server(): Promise<S3Server> {
  const server: S3Server = {
    env: {},
    objects: new Map(),
    requests: [],
    refused: undefined,
  }
  const { url, close } = await listenLocally(
    createServer((request, response) => void answer(server, request, response)),
  )
  onTestFinished(close)
  const env = {
    AWS_ENDPOINT_URL: url,
    AWS_REGION: REGION,
    AWS_ACCESS_KEY_ID: KEY,
    AWS_SECRET_ACCESS_KEY: SECRET,
  }
  return Object.assign(server, { env })
}

async function answer(
  { objects, requests, refused }: S3Server,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await buffer(request)
  const { method, url = '' } = request
  const name = decodeURIComponent(new URL(url, 'http://s3').pathname)
  requests.push(`${method} ${name}`)
  const fail = (status: number, code: string) =>
    response.writeHead(status).end(`<Error><Code>${code}</Code><Message>no</Message></Error>`)
  if (!isSigned(request)) return void fail(403, 'SignatureDoesNotMatch')
  if (refused !== undefined && name.includes(refused)) return void fail(403, 'AccessDenied')
  if (method === 'PUT') {
    const sent = request.headers['x-amz-checksum-sha256']
    if (sent !== sha256(body, 'base64')) return void fail(400, 'BadDigest')
    objects.set(name, body)
    return void response.end()
  }
  const object = objects.get(name)
  if (object === undefined) return void fail(404, 'NoSuchKey')
  response.end(object)
}

/** Computes the signature again, as AWS Signature Version 4 describes. */
function isSigned({ method, url = '', headers }: IncomingMessage): boolean {
  const [, scope = '', names = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), SignedHeaders=([^,]+), Signature=(\w+)$/.exec(
      headers.authorization ?? '',
    ) ?? []
  const [key, ...rest] = scope.split('/')
  const [day = '', region = '', service = '', end = ''] = rest
  const { pathname, searchParams } = new URL(url, 'http://s3')
  searchParams.sort()
  const canonical = [
    method,
    pathname,
    searchParams.toString(),
    ...names.split(';').map((name) => `${name}:${String(headers[name]).trim()}`),
    '',
    names,
    headers['x-amz-content-sha256'],
  ].join('\n')
  const text = [
    'AWS4-HMAC-SHA256',
    headers['x-amz-date'],
    rest.join('/'),
    sha256(canonical, 'hex'),
  ].join('\n')
  const signingKey = [day, region, service, end].reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${SECRET}`,
  )
  const expected = createHmac('sha256', signingKey).update(text).digest('hex')
  const isChecked = names.split(';').includes('x-amz-content-sha256')
  return isChecked && key === KEY && region === REGION && signature === expected
}

function sha256(content: string | Buffer, encoding: 'hex' | 'base64'): string {
  return createHash('sha256').update(content).digest(encoding)
}
