// SPDX-License-Identifier: BSD-3-Clause
// main.jsx: the report that lies in this page.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { render } from "preact";
import { loadReport } from "./data/load.js";
import { Report } from "./views/report.jsx";

const root = document.getElementById("app");
try {
  const report = await loadReport(document.getElementById("report"));
  document.documentElement.lang = "en";
  render(<Report report={report} />, root);
  document.documentElement.dataset.ready = "yes";
} catch (error) {
  root.textContent = `This report cannot be shown: ${error.message}`;
  root.className = "failed";
  throw error;
}
