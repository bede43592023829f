export { LoadProcess } from '../harness/load/process.js';
