import { nextDeliveryMs } from '../delivery/dispatch/claim-deliveries.ts'
import { createDispatcher, type Dispatcher } from '../delivery/dispatch/dispatcher.ts'
import type { RecordedResults } from '../delivery/dispatch/record-results.ts'
import { createOpenTarget } from '../delivery/endpoints/sealer.ts'
import { createChatFormat } from '../delivery/formats/chat.ts'
import { CHATS } from '../delivery/formats/chats.ts'
import { createEmailFormat } from '../delivery/formats/email.ts'
import type { Format } from '../delivery/formats/format.ts'
import { createMailer } from '../delivery/formats/mailer.ts'
import { hashOfTarget, messageLimit, takeFromLimit } from '../delivery/formats/target-limits.ts'
import { createTemplateFormat } from '../delivery/formats/template.ts'
import { createTransport, type Transport } from '../delivery/formats/transport.ts'
import { createWebhookFormat } from '../delivery/formats/webhook.ts'
import { CHAT_FORMATS } from '../platform/base/kinds.ts'
import type { Loop } from '../platform/base/loop.ts'
import { createScrub, type Scrub } from '../platform/base/secrets.ts'
import { publicUrlOf } from '../platform/config/addresses.ts'
import { secretsOf } from '../platform/config/config.ts'
import { followHints } from '../platform/db/listener.ts'
import type { App } from './app.ts'
import { chatHostsOf, targetPolicyOf, targetRulesOf } from './settings-for.ts'

/** The delivery of records to endpoints in a worker process. */
export interface Delivery {
  readonly loops: readonly Loop[]
  /** Gives the requests in progress some time, and releases the rest. */
  close(graceMs: number): Promise<void>
}

/**
 * Delivers after every notification of new records, while deliveries wait, and every five seconds in case one was
 * lost.
 */
export function createDelivery(app: App): Delivery {
  const { config, database, log, listener } = app
  const { db } = database
  const scrub = createScrub(secretsOf(config))
  const transport = createTransport({ policy: targetPolicyOf(config), scrub })
  const dispatcher = createDispatcher({
    db,
    publicUrl: publicUrlOf(config),
    formats: formatsOf(app, transport, scrub),
    openTarget: createOpenTarget(app.sealer),
    onRecorded: (recorded) => reportResults(app, recorded),
    random: Math.random,
    log,
  })
  // The loop repeats what fails here, and reports the error.
  const unsubscribe = listener.subscribe(
    'watch',
    followHints(() => dispatcher.dispatch()),
  )
  return {
    loops: [deliverLoop(app, dispatcher)],
    close: async (graceMs) => {
      unsubscribe()
      await dispatcher.close(graceMs)
      await transport.close()
    },
  }
}

function formatsOf({ config, database }: App, transport: Transport, scrub: Scrub): Format[] {
  const limit = messageLimit(config.EMAIL_MESSAGES_PER_HOUR)
  const hosts = chatHostsOf(config)
  return [
    createWebhookFormat({ transport }),
    createTemplateFormat({ transport }),
    ...CHAT_FORMATS.map((name) => createChatFormat(CHATS[name], { transport, hosts: hosts[name] })),
    createEmailFormat({
      mailer: createMailer({ ...targetRulesOf(config).email, scrub }),
      limit: (target) =>
        takeFromLimit(database.db, hashOfTarget({ format: 'email', target }), limit),
      publicUrl: publicUrlOf(config),
    }),
  ]
}

function deliverLoop({ database: { db } }: App, dispatcher: Dispatcher): Loop {
  return {
    name: 'deliver',
    atMostMs: 5_000,
    run: async () => {
      const dueMs = await nextDeliveryMs(db)
      const isDue = dueMs !== undefined && dueMs <= 0
      if (!isDue && !dispatcher.hasUnrecorded()) return dueMs
      await dispatcher.dispatch()
      return nextDeliveryMs(db)
    },
  }
}

/** The lag is that of webhooks alone: a digest or a limit delays messages for people on purpose. */
function reportResults({ log, metrics }: App, { deliveries, disabled }: RecordedResults): void {
  for (const { outcome, lagMs, format } of deliveries) {
    metrics.webhookDeliveries.inc({ outcome })
    if (outcome === 'delivered' && format === 'webhook') metrics.webhookLag.observe(lagMs / 1000)
  }
  for (const endpointId of disabled) {
    log.warn({ endpointId }, 'endpoint answered that it is gone and is disabled')
  }
}
