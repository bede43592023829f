import { adminToken } from './admin-token.js';
import { backup } from './backup.js';
import { checkConfig } from './check-config.js';
import type { Command } from './command.js';
import { doctor } from './doctor.js';
import { restore } from './restore.js';

/** All commands, in the order of the help. */
export const COMMANDS: readonly Command[] = [checkConfig, doctor, adminToken, backup, restore];
