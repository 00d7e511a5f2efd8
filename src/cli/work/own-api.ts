import { Readable } from 'node:stream'
import { createApiServer } from '../../app/api-server.ts'
import type { KeyCheck, OperatorCaller } from '../../platform/http/operation.ts'
import { actingFor } from '../../resellers/check-keys.ts'
import { requireAccount } from '../../resellers/resellers.ts'
import type { Send } from '../api-client.ts'
import { withQueue } from '../context.ts'

/** Who changes something on the database itself. */
const OPERATOR: OperatorCaller = {
  kind: 'operator',
  keyId: 0,
  scopes: ['read', 'operate'],
  limitKey: 'cli',
}

/**
 * Runs work with the API of this process, which listens nowhere. Its operations are the same. A user who has the settings
 * of the database is an operator.
 */
export async function withOwnApi<T>(work: (send: Send) => Promise<T>): Promise<T> {
  const done = Promise.withResolvers<T>()
  await withQueue({ role: 'command' }, async (app, queue) => {
    const callerOf = async (_key: string, reseller?: string): Promise<KeyCheck> =>
      reseller === undefined
        ? OPERATOR
        : actingFor(OPERATOR, await requireAccount(app.database.db, reseller))
    // It waits for nothing, so it follows no notifications.
    const listener = { ...app.listener, subscribe: () => () => undefined }
    const server = createApiServer({ ...app, listener }, queue, {
      callerOf,
      forget: () => undefined,
      allUsesRecorded: async () => undefined,
    })
    try {
      done.resolve(await work(sendTo(server)))
    } finally {
      await server.close()
    }
  })
  return done.promise
}

function sendTo(server: ReturnType<typeof createApiServer>): Send {
  return async (url, { method, headers, body }) => {
    const {
      statusCode: status,
      headers: sent,
      payload,
    } = await server.inject({
      method: method as 'GET',
      url,
      headers: { ...headers, authorization: 'Bearer database' },
      ...(body !== undefined && { payload: body }),
    })
    const type = String(sent['content-type'])
    return { from: 'the database', status, type, body: Readable.from([payload]) }
  }
}
