import {
  createEndpoint,
  deleteEndpoint,
  type EndpointDeps,
} from '../delivery/endpoints/change-endpoints.ts'
import { listEndpoints } from '../delivery/endpoints/endpoint-queries.ts'
import { type Receiver, type ShownWebhook, startReceiver } from '../delivery/receiver/receiver.ts'
import type { Db } from '../platform/db/database.ts'
import { ensureDemoReseller } from './demo.ts'

const HOST = '127.0.0.1'
const DESCRIPTION = 'the receiver of the demo'

export interface DemoReceiver extends Receiver {
  /** What must be allowed as a target for its endpoint: its address and port alone, because all resellers may use it. */
  readonly network: string
  /** Creates its endpoint, in place of that of the start before, whose port was another. */
  register(db: Db, deps: EndpointDeps): Promise<void>
}

/** Starts a receiver of webhooks on a free port of this machine. */
export async function startDemoReceiver(
  onWebhook: (webhook: ShownWebhook) => void,
): Promise<DemoReceiver> {
  let secret: string | null = null
  const receiver = await startReceiver({
    host: HOST,
    port: 0,
    secret: () => secret ?? undefined,
    now: () => new Date(),
    onWebhook,
  })
  return {
    ...receiver,
    network: `${HOST}/32:${new URL(receiver.url).port}`,
    register: async (db, deps) => {
      const { id: resellerId } = await ensureDemoReseller(db)
      const owner = { db, resellerId }
      for (const { id, description } of await listEndpoints(owner)) {
        if (description === DESCRIPTION) await deleteEndpoint(owner, id)
      }
      const given = { target: receiver.url, description: DESCRIPTION }
      secret = (await createEndpoint(owner, deps, given)).secret
    },
  }
}
