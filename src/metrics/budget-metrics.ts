import { Counter, Gauge, type Registry } from 'prom-client'

export function budgetMetrics(registers: Registry[]) {
  return {
    budgetSlots: new Counter({
      name: 'farewatch_budget_slots_total',
      help: 'Slots of the budget that this process took, by lane or purpose.',
      labelNames: ['lane'],
      registers,
    }),
  }
}

/** Of the whole system: who waits for the budget, and for how long. */
export function budgetGauges(registers: Registry[]) {
  return {
    budgetRate: new Gauge({
      name: 'farewatch_budget_requests_per_second',
      help: 'The configured budget: upstream requests a second of all processes together.',
      registers,
    }),
    checksDue: new Gauge({
      name: 'farewatch_checks_due',
      help: 'Fares that may be checked now and wait for a slot, by lane.',
      labelNames: ['lane'],
      registers,
    }),
    checksOldestDue: new Gauge({
      name: 'farewatch_checks_oldest_due_timestamp_seconds',
      help: 'Since when the longest-waiting fare of each lane may be checked; 0 if none waits.',
      labelNames: ['lane'],
      registers,
    }),
    turnLength: new Gauge({
      name: 'farewatch_checks_turn_seconds',
      help: 'Time that one check of every fare takes at the present budget: the expected interval of a fare.',
      registers,
    }),
  }
}
