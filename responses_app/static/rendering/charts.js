// Draws the figures that responses_app/rendering/charts.py describes, with Chart.js.
"use strict";

(() => {
  const COLOURS = ["#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2"];
  const KINDS = { line: "line", area: "line", column: "bar", bar: "bar", pie: "pie", scatter: "scatter" };

  function drawCharts(root) {
    for (const figure of root.querySelectorAll("figure.vis-chart:not([data-drawn])")) {
      figure.dataset.drawn = "true";
      const chart = JSON.parse(figure.dataset.chart);
      const canvas = document.createElement("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", String(chart.title || "Chart") + "; its data is in the table below");
      const holder = document.createElement("div");
      holder.className = "vis-chart-canvas";
      holder.append(canvas);
      const details = figure.querySelector("details");
      figure.insertBefore(holder, details);
      new Chart(canvas, settings(chart));
    }
  }

  function settings(chart) {
    const kind = KINDS[chart.type];
    const labels = [...new Set(chart.data.map(label))];
    const groups = [...new Set(chart.data.map((point) => point.group ?? ""))];
    return {
      type: kind,
      data: {
        labels: kind === "scatter" ? undefined : labels,
        datasets: groups.map((group, index) => dataset(chart, kind, labels, group, index)),
      },
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        indexAxis: chart.type === "bar" ? "y" : "x",
        plugins: { legend: { display: groups.length > 1 || kind === "pie" } },
        scales: kind === "pie" ? {} : { x: axis(chart.axisXTitle), y: axis(chart.axisYTitle) },
      },
    };
  }

  function label(point) {
    return String(point.time ?? point.category ?? point.x ?? "");
  }

  function axis(title) {
    return { title: { display: Boolean(title), text: String(title ?? "") } };
  }

  function dataset(chart, kind, labels, group, index) {
    const points = chart.data.filter((point) => (point.group ?? "") === group);
    const colour = COLOURS[index % COLOURS.length];
    const values = new Map(points.map((point) => [label(point), point.value ?? point.y ?? null]));
    return {
      label: String(group),
      data: kind === "scatter" ? points.map(({ x, y }) => ({ x, y })) : labels.map((name) => values.get(name) ?? null),
      borderColor: colour,
      backgroundColor: kind === "pie" ? labels.map((_, place) => COLOURS[place % COLOURS.length]) : colour,
      fill: chart.type === "area",
      spanGaps: true,
      pointRadius: labels.length > 60 ? 0 : 3,
    };
  }

  window.drawCharts = drawCharts;
  document.addEventListener("DOMContentLoaded", () => drawCharts(document));
})();
