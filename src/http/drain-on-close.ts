import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Server } from 'node:net'
import type { FastifyInstance } from 'fastify'

/**
 * When the server closes, it accepts no new connection and waits until the requests in progress are answered. Requests
 * on open connections are still answered, each as the last of its connection. After `drainMs` the rest is cut off.
 *
 * Add it after every preClose hook that ends long-running requests, because this hook waits for them.
 */
export function drainOnClose(fastify: FastifyInstance, drainMs: number): void {
  const { server } = fastify
  const inProgress = new Set<ServerResponse>()
  server.on('request', (_request, response: ServerResponse) => {
    inProgress.add(response)
    // Also emitted when the client disconnects.
    response.once('close', () => inProgress.delete(response))
  })
  fastify.addHook('preClose', async () => {
    // Fastify itself stops listening only after this hook. The method of net.Server is used because the one of
    // http.Server treats connections with an ended but unsent response as idle and cuts them off.
    if (server.listening) Server.prototype.close.call(server)
    const signal = AbortSignal.timeout(drainMs)
    while (inProgress.size > 0 && !signal.aborted) {
      const [response] = inProgress
      if (response !== undefined) await once(response, 'close', { signal }).catch(() => undefined)
    }
  })
}
