import http from 'node:http'
import type { Route } from '../../src/upstream/route-list.ts'
import { listenLocally } from './local-server.ts'

/** An upstream that serves only the two lists, which the test sets. */
export interface ListServer {
  readonly url: string
  serve(lists: { readonly routes?: readonly Route[]; readonly available?: readonly Route[] }): void
  /** The paths of the requests so far. */
  readonly requests: string[]
  close(): Promise<void>
}

export async function startListServer(): Promise<ListServer> {
  let bodies = { '/api/v1/data/routes': '[]', '/api/v1/data/routes/with-availability': '[]' }
  const requests: string[] = []
  const server = http.createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    requests.push(pathname)
    const body = bodies[pathname as keyof typeof bodies]
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(body ?? '{}')
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    requests,
    serve: ({ routes, available }) => {
      bodies = {
        '/api/v1/data/routes': JSON.stringify(routes ?? []),
        '/api/v1/data/routes/with-availability': JSON.stringify(available ?? []),
      }
    },
    close,
  }
}
