import { Gauge, type Registry } from 'prom-client'

/** What a process tells of itself and of its way to the stores, beside what the runtime tells. */
export function processMetrics(registers: Registry[]) {
  return {
    buildInfo: new Gauge({
      name: 'farewatch_build_info',
      help: 'Always 1: the version, the Node.js version and the command of this process.',
      labelNames: ['version', 'node', 'role'],
      registers,
    }),
    leader: new Gauge({
      name: 'farewatch_leader',
      help: '1 in the one process that shows the gauges of the whole system.',
      registers,
    }),
    clockSkew: new Gauge({
      name: 'farewatch_clock_skew_seconds',
      help: 'The clock of a store (database or queue) minus the clock of this process.',
      labelNames: ['store'],
      registers,
    }),
    databaseUp: new Gauge({
      name: 'farewatch_db_up',
      help: '1 if the database answered this process during this scrape.',
      registers,
    }),
    databasePing: new Gauge({
      name: 'farewatch_db_ping_seconds',
      help: 'Time that the answer took, including the wait for a connection; the timeout if there was none.',
      registers,
    }),
    databaseConnections: new Gauge({
      name: 'farewatch_db_pool_connections',
      help: 'Connections of the pool of this process, by state: busy, idle.',
      labelNames: ['state'],
      registers,
    }),
    databaseConnectionsMax: new Gauge({
      name: 'farewatch_db_pool_max_connections',
      help: 'The size limit of the pool.',
      registers,
    }),
    databaseWaiting: new Gauge({
      name: 'farewatch_db_pool_waiting',
      help: 'Queries that wait for a connection of the pool.',
      registers,
    }),
  }
}
