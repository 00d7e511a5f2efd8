import type { QueueConnection } from '../../../src/platform/queue/queue-connection.ts'
import type { TcpProxy } from '../../support/tcp-proxy.ts'

/** A store for one test file, behind a proxy that can block it. */
export interface TestStore {
  /** The address through the proxy. */
  readonly connection: QueueConnection
  readonly door: TcpProxy
  /** Closes all its connections on the server, and stops a server that belongs to this file alone. */
  restart(): Promise<void>
  /** Deletes all data. */
  wipe(): Promise<void>
  /** Runs a statement or a command, not through the proxy. Postgres returns rows. */
  ask(command: string): Promise<unknown>
  /** All stored data as one text. */
  dump(): Promise<string>
  close(): Promise<void>
}
