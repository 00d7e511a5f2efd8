import type { QueueConnection } from '../../src/queue/queue-connection.ts'
import type { TcpProxy } from '../support/tcp-proxy.ts'

/** A store of its own for one test file, behind a door. */
export interface TestStore {
  /** Through the door. */
  readonly connection: QueueConnection
  readonly door: TcpProxy
  /** Ends all its connections from the server's side, and the server too where that is ours alone. */
  restart(): Promise<void>
  /** Redis only: forgets everything. */
  wipe(): Promise<void>
  /** A statement or a command, not through the door. Postgres answers with rows. */
  ask(command: string): Promise<unknown>
  /** All that is stored, as one text. */
  dump(): Promise<string>
  close(): Promise<void>
}
